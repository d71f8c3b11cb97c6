import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { executable, run } from './support/child.ts';
import { hasProgram } from './support/requires.ts';
import { temporaryFolder } from './support/temp.ts';

const operations = join(process.env.SVC_ROOT ?? '.', 'examples/operations');
const read = (name: string) => readFileSync(join(operations, name), 'utf8');

/** Maximum exposure of the service on a machine, as systemd computes it from the unit. */
const highestExposure = 1.5;

test('the systemd unit is valid, and its exposure is low', (t) => {
  if (!hasProgram(t, 'systemd-analyze')) return;
  const folder = temporaryFolder(t);
  const unit = read('svc.service').replaceAll('/usr/local/lib/svc/svc.mjs', executable).replaceAll('/usr/bin/node', process.execPath);
  writeFileSync(join(folder, 'svc.service'), unit);
  const verified = spawnSync('systemd-analyze', ['verify', join(folder, 'svc.service')], { encoding: 'utf8' });
  assert.equal(verified.stderr.includes('svc.service:'), false, verified.stderr);
  const security = spawnSync('systemd-analyze', ['security', '--offline=true', join(folder, 'svc.service')], { encoding: 'utf8' });
  const exposure = Number(/exposure level for svc\.service: ([\d.]+)/.exec(security.stdout)?.[1]);
  assert.ok(exposure > 0 && exposure <= highestExposure, security.stdout + security.stderr);
});

test('the commands of the unit are commands of svc', async (t) => {
  const cwd = temporaryFolder(t);
  const calls = [...read('svc.service').matchAll(/^Exec\w+=\S+ \S+svc\.mjs (.*)$/gm)].map((match) => (match[1] as string).split(' '));
  assert.equal(calls.length, 3);
  for (const [command = '', ...options] of calls) {
    const help = await run(t, [command, '--help'], { cwd });
    for (const option of options.filter((word) => word.startsWith('--'))) assert.ok(help.stdout.includes(option), `${command} ${option}`);
  }
});

test('the Dockerfile pins its images, does not run as root, starts commands without a shell, and copies only existing files', () => {
  const text = read('Dockerfile').replace(/\\\n/g, ' ');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const known = new Set([
    'FROM',
    'ENV',
    'RUN',
    'COPY',
    'USER',
    'WORKDIR',
    'VOLUME',
    'EXPOSE',
    'STOPSIGNAL',
    'HEALTHCHECK',
    'ENTRYPOINT',
    'CMD',
  ]);
  for (const line of lines) assert.ok(known.has(line.split(' ', 1)[0] as string), line);
  assert.deepEqual(
    [...text.matchAll(/^FROM (.*)$/gm)].map(([, image]) => image),
    ['node:24-bookworm-slim AS build', 'debian:bookworm-slim'],
  );
  assert.match(text, /^USER (?!root|0)[\w:]+$/m);
  for (const [, form = ''] of text.matchAll(/^(?:ENTRYPOINT|CMD|HEALTHCHECK .*?CMD) (.*)$/gm))
    assert.ok(Array.isArray(JSON.parse(form)), form);
  const run = text.slice(text.indexOf('FROM debian'));
  const sources = [...run.matchAll(/^COPY --chmod=\d+ (\S+) /gm)].map((match) => match[1] as string);
  assert.deepEqual(sources, ['examples/operations/svc.config.yaml']);
  assert.doesNotMatch(run, /^RUN/m);
  assert.match(run, /^HEALTHCHECK .* CMD \["svc", "health"\]$/m);
  for (const source of sources) assert.ok(readFileSync(join(operations, '../..', source)).length > 0);
});

test('the unit keeps compiled code in a folder that only the service may write', () => {
  const unit = read('svc.service');
  const value = (name: string) => new RegExp(`^${name}=(.+)$`, 'm').exec(unit)?.[1];
  assert.equal(value('Environment=NODE_COMPILE_CACHE'), `/var/cache/${value('CacheDirectory')}`);
  assert.equal(value('CacheDirectoryMode'), '0700');
});

test('the image, the unit and the nodes limit the young generation of Node.js by an option that Node.js allows in NODE_OPTIONS', () => {
  const nodes = parse(read('nodes/compose.yaml'), { merge: true });
  const given = [
    / NODE_OPTIONS=(\S+)/.exec(read('Dockerfile'))?.[1],
    /^Environment=NODE_OPTIONS=(\S+)$/m.exec(read('svc.service'))?.[1],
    nodes.services.node1.environment.NODE_OPTIONS,
  ];
  assert.deepEqual(new Set(given), new Set(['--max-semi-space-size=16']));
  const env = { ...process.env, NODE_OPTIONS: given[0] };
  const { status, stderr } = spawnSync(process.execPath, ['-e', '0'], { env, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});

test('the compose file sets only variables that the configuration uses, and the service owns the mount points of all volumes', () => {
  const compose = parse(read('compose.yaml'), { merge: true });
  assert.deepEqual(Object.keys(compose.services), ['node1', 'node2', 'redis']);
  const config = read('svc.config.yaml');
  const owned = [...read('Dockerfile').matchAll(/^COPY --from=build --chown=1000:1000 \/data (\S+)$/gm)].map(([, path]) => path);
  for (const name of ['node1', 'node2']) {
    const { environment, volumes, depends_on } = compose.services[name];
    for (const variable of Object.keys(environment)) assert.ok(config.includes(`\${env:${variable}`), `${variable} is not used`);
    assert.ok(volumes.some((volume: string) => volume.endsWith(':/var/lib/svc')));
    // A new volume has the owner of its mount point.
    for (const volume of volumes) assert.ok(owned.includes(volume.split(':')[1]), volume);
    assert.deepEqual(depends_on, { redis: { condition: 'service_healthy' } });
  }
  const nodes = [compose.services.node1, compose.services.node2].map(({ volumes }) =>
    volumes.find((volume: string) => volume.endsWith('/svc')),
  );
  assert.notEqual(nodes[0], nodes[1], 'each node has a data folder of its own');
});

test('the CI files run the script, and keep its results', () => {
  const github = parse(read('github-actions.yml'));
  const steps = github.jobs.configuration.steps as { run?: string; with?: Record<string, string> }[];
  assert.ok(steps.some((step) => step.run === 'bash ci.sh'));
  assert.ok(steps.some((step) => step.with?.sarif_file === 'svc.sarif'));
  const gitlab = parse(read('gitlab-ci.yml'));
  assert.ok(gitlab.svc.script.includes('bash ci.sh'));
  assert.equal(gitlab.svc.artifacts.reports.junit, 'report.xml');
});
