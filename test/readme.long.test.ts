import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { program } from './support/child.ts';
import { freePort } from './support/redis.ts';
import { hasProgram } from './support/requires.ts';
import { pasteTour, runTour } from './support/run-tour.ts';
import { temporaryFolder } from './support/temp.ts';
import { tour } from './support/tour.ts';

test('three nodes run on one machine, and a rolling restart has no failed request, as docs/operate/nodes.md describes', {
  timeout: 110_000,
}, async (t) => {
  for (const program of ['curl', 'nginx', 'redis-server']) if (!hasProgram(t, program)) return;
  let group: ChildProcess | undefined;
  t.after(async () => {
    if (!group?.pid) return;
    const closed = new Promise((resolve) => group?.once('close', resolve));
    process.kill(-group.pid, 'SIGKILL');
    await closed;
  });
  const cwd = temporaryFolder(t);
  const example = 'examples/operations/three-nodes';
  cpSync(join(process.env.SVC_ROOT ?? '.', example), join(cwd, example), { recursive: true });
  const ports = new Map<string, number>();
  for (const name of ['6379', '8080', '8081', '8082', '8083', '9101', '9102', '9103']) ports.set(name, await freePort());
  const withPorts = (text: string) => text.replace(/\b(6379|808[0-3]|910[1-3])\b/g, (name) => String(ports.get(name)));
  for (const name of ['svc.config.yaml', 'nginx.conf', 'rolling-restart.sh']) {
    const path = join(cwd, example, name);
    const text = readFileSync(path, 'utf8')
      .replace('PORT=808$number', 'PORT=$(eval echo "\\$PORT$number")')
      .replaceAll('910$number', '$(eval echo "\\$MONITOR$number")');
    writeFileSync(path, withPorts(text));
  }
  const tools = temporaryFolder(t);
  mkdirSync(join(cwd, 'node_modules/.bin'), { recursive: true });
  symlinkSync(program.at(-1) as string, join(cwd, 'node_modules/.bin/svc'));
  writeFileSync(join(tools, 'npx'), `#!/bin/sh\nshift\nexec ${program.join(' ')} "$@"\n`, { mode: 0o755 });
  const numbered = [1, 2, 3].flatMap((number) => [
    [`PORT${number}`, String(ports.get(`808${number}`))],
    [`MONITOR${number}`, String(ports.get(`910${number}`))],
  ]);
  const env = { ...process.env, ...Object.fromEntries(numbered), NO_COLOR: '1', PATH: `${tools}:${process.env.PATH}` };
  // The shell has its own process group, so that all that it starts ends with the test.
  const shell = spawn('bash', ['--norc'], { cwd, env, detached: true });
  group = shell;
  shell.stdin.write('exec 2>&1\n');
  let output = '';
  shell.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const steps = tour('docs/operate/nodes.md', 'Three nodes behind nginx');
  assert.ok(steps.length >= 15, 'the tours were found');
  for (const [index, { command, expected }] of steps.entries()) {
    output = '';
    const isBackground = command.endsWith('&');
    shell.stdin.write(`${withPorts(command)}\n${isBackground ? '' : `echo "done ${index}"\n`}`);
    const wanted = withPorts(expected).trim();
    const deadline = Date.now() + 40_000;
    const isOver = () => (isBackground ? output.includes(wanted) : output.endsWith(`done ${index}\n`));
    while (!isOver() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(output.replace(`done ${index}\n`, '').trim(), wanted, command);
  }
});

test('the second tour, from init to a tested configuration, prints what its page shows', { timeout: 90_000 }, (t) =>
  runTour(t, 'docs/integrate/tour.md'),
);

test('the second tour works if it is pasted as a whole, and both uploads have their events', { timeout: 90_000 }, async (t) => {
  const cwd = await pasteTour(t, 'docs/integrate/tour.md');
  if (cwd === undefined) return;
  const told = readFileSync(join(cwd, 'received.ndjson'), 'utf8').match(/"id":"\d+"/g);
  assert.deepEqual(told, ['"id":"40017"', '"id":"40022"']);
});

test('the page about the first hour of a partner over SFTP prints what it shows', { timeout: 90_000 }, async (t) => {
  if (!hasProgram(t, 'sftp')) return;
  await runTour(t, 'docs/operate/sftp.md', "A partner's first hour");
});
