import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { verifyPassword } from '../../src/accounts/passwords.ts';
import { program, run, start } from '../support/child.ts';
import { temporaryFolder } from '../support/temp.ts';

test('init writes a valid configuration and never overwrites a file', async (t) => {
  const folder = temporaryFolder(t);
  const init = await run(t, ['init'], { cwd: folder });
  assert.equal(init.code, 0);
  assert.match(init.stderr, /Password: \S{16}/);
  assert.equal(statSync(join(folder, 'svc.config.yaml')).mode & 0o777, 0o600);
  const valid = await run(t, ['validate'], { cwd: folder });
  assert.equal(valid.code, 0, valid.stderr);
  assert.match(valid.stdout, /is valid: 1 service, 1 authentication method, 1 group, 1 account, 0 event handlers/);
  const again = await run(t, ['init'], { cwd: folder });
  assert.equal(again.code, 2);
  assert.match(again.stderr, /svc\.config\.yaml exists/);
});

test('init: a path that cannot be written is reported as a usage error, not as an internal error', async (t) => {
  const cwd = temporaryFolder(t);
  symlinkSync('loop', join(cwd, 'loop'));
  for (const file of ['loop/svc.config.yaml', `${'a'.repeat(300)}.yaml`]) {
    const { code, stderr } = await run(t, ['init', file], { cwd });
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^svc: Cannot write /);
    assert.doesNotMatch(stderr, /should not happen/);
  }
  symlinkSync('missing', join(cwd, 'dangling.yaml'));
  const dangling = await run(t, ['init', 'dangling.yaml'], { cwd });
  assert.equal(dangling.code, 2);
  assert.match(dangling.stderr, /dangling\.yaml exists and is not overwritten/);
});

test('validate: exit codes 1 and 2; with --json only JSON is printed; `validate-config` is an alias', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'bad.yaml'), 'services:\n  web: {type: http, port: 99999}\n  w2: {type: ftp}\n');
  const bad = await run(t, ['validate', 'bad.yaml'], { cwd: folder });
  assert.equal(bad.code, 1);
  assert.match(
    bad.stderr,
    /bad\.yaml:2:27: error\[bad-value\]: services\.web\.port: must be a number from 0 to 65535\n {4} {2}web: .*\n {4} {26}\^/,
  );
  assert.match(bad.stderr, /2 errors, 0 warnings/);
  const asJson = await run(t, ['validate-config', 'bad.yaml', '--json'], { cwd: folder });
  assert.deepEqual([asJson.code, asJson.stderr], [1, '']);
  const report = JSON.parse(asJson.stdout);
  assert.equal(report.valid, false);
  assert.deepEqual(Object.keys(report.findings[0]), ['severity', 'code', 'file', 'line', 'column', 'path', 'message']);
  assert.equal((await run(t, ['validate'], { cwd: folder })).code, 2, 'there is no configuration file');
  assert.equal((await run(t, ['validate', 'missing.yaml'], { cwd: folder })).code, 2);
  assert.equal((await run(t, ['validate', '.'], { cwd: folder })).code, 2);
});

test('the configuration is found under every documented name or by SVC_CONFIG; a configuration in JavaScript is not run', async (t) => {
  const text = {
    'svc.config.yaml': 'services: {a: {type: http}}',
    'svc.config.yml': 'services: {a: {type: http}}',
    'svc.config.json': '{"services":{"a":{"type":"http"}}}',
    '.svcrc': 'services: {a: {type: http}}',
    '.svcrc.yaml': 'services: {a: {type: http}}',
    '.svcrc.json': '{"services":{"a":{"type":"http"}}}',
    'package.json': '{"name":"x","svc":{"services":{"a":{"type":"http"}}}}',
  };
  for (const [name, content] of Object.entries(text)) {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, name), content);
    const end = await run(t, ['validate'], { cwd: folder });
    assert.equal(end.code, 0, `${name}: ${end.stderr}`);
    assert.ok(end.stdout.includes(join(folder, name)));
    mkdirSync(join(folder, 'below'));
    assert.equal((await run(t, ['validate'], { cwd: join(folder, 'below') })).code, 2, 'parent folders are not searched');
    assert.equal((await run(t, ['validate'], { cwd: join(folder, 'below'), env: { SVC_CONFIG: `../${name}` } })).code, 0);
  }
  const js = temporaryFolder(t);
  writeFileSync(join(js, 'svc.config.js'), 'console.log("ran"); module.exports = {}');
  // cosmiconfig reads its own configuration from this folder.
  mkdirSync(join(js, '.config'));
  writeFileSync(join(js, '.config/config.js'), 'console.log("ran"); module.exports = {}');
  writeFileSync(join(js, '.config/config.mjs'), 'console.log("ran"); export default {}');
  const end = await run(t, ['validate'], { cwd: js });
  assert.deepEqual([end.code, end.stdout], [2, ''], 'a configuration never runs code');
});

test('hash-password prints a hash of the first line of stdin', async (t) => {
  const folder = temporaryFolder(t);
  const end = await run(t, ['hash-password'], { cwd: folder, input: 'päss word\nmore\n' });
  assert.match(end.stdout, /^\$scrypt\$ln=\d+,r=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+\n$/);
  assert.equal(await verifyPassword('päss word', end.stdout.trim()), true);
  assert.equal((await run(t, ['hash-password'], { cwd: folder, input: '' })).code, 2);
});

test('schema prints all sections of the configuration, with descriptions of the options', async (t) => {
  const { stdout, code } = await run(t, ['schema'], { cwd: temporaryFolder(t) });
  assert.equal(code, 0);
  const schema = JSON.parse(stdout);
  assert.deepEqual(Object.keys(schema.properties), [
    '$schema',
    'server',
    'authentications',
    'inspections',
    'groups',
    'accounts',
    'services',
    'event_handlers',
    'expectations',
  ]);
  assert.match(stdout, /Seconds without activity/);
});

test('help and version are printed; a reader that closes the pipe causes no error', async (t) => {
  const folder = temporaryFolder(t);
  const { version } = JSON.parse(readFileSync(join(process.env.SVC_ROOT ?? '.', 'package.json'), 'utf8'));
  const shown = (await start(t, ['--version'], { cwd: folder }).ended).stdout;
  assert.match(shown, program.length > 1 ? /^[\d.]+\n$/ : /^[\d.]+ \(Node\.js [\d.]+\)\n$/);
  assert.equal(shown.trim().split(' ')[0], version);
  const help = await run(t, ['--help'], { cwd: folder });
  assert.equal(help.code, 0);
  for (const command of ['serve', 'validate', 'init', 'hash-password', 'schema'])
    assert.match(help.stdout, new RegExp(`\\n {2}${command}`));
  assert.match((await run(t, ['serve', '--help'], { cwd: folder })).stdout, /Examples:/);
  const piped = spawnSync('sh', ['-c', `${program.join(' ')} schema | head -1; exit 0`], { cwd: folder, encoding: 'utf8' });
  assert.equal(piped.stderr, '');
});

test('errors of options are one line that names the option and says what to do', async (t) => {
  const cwd = temporaryFolder(t);
  const cases: [string[], string][] = [
    [['valdate'], 'unknown command "valdate" (did you mean "validate"?).'],
    [['serve', '--prt', '1'], 'unknown option "--prt" (did you mean "--port"?).'],
    [['serve', '--nothing-like-it'], 'unknown option "--nothing-like-it".'],
    [['serve', '--port', 'x\u001b[31m'], '--port "x\\u001b[31m" must be a port number from 0 to 65535.'],
    [['serve', '--log-level', 'inf'], '--log-level "inf" must be one of debug, info, warn, error.'],
    [['serve', '--config'], '--config needs a value: <file>.'],
    [['events', '--since', "a'b"], `--since "a'b" must be a time such as 2026-01-31T12:00, or how long ago, such as 15m, 2h or 7d.`],
    [['completion'], "missing required argument 'shell'."],
    [['schema', 'nothing'], "command-argument value 'nothing' is invalid for argument 'what'."],
  ];
  for (const [args, fault] of cases) {
    const { code, stderr } = await run(t, args, { cwd });
    assert.equal(code, 2);
    assert.ok(stderr.startsWith(`svc: ${fault}`), stderr);
    assert.match(stderr, /^.* Run it with --help for usage\.\n$/);
  }
});

test('svc prints its licence and those of all bundled packages', async (t) => {
  const { stdout, code } = await start(t, ['--licenses'], { cwd: temporaryFolder(t) }).ended;
  assert.equal(code, 0);
  for (const line of [/^svc [\d.]+: MIT$/m, /^hono [\d.]+: MIT$/m, /^ssh2 [\d.]+: MIT$/m, /^Permission is hereby granted/m])
    assert.match(stdout, line);
  assert.equal(/^Node\.js [\d.]+:/m.test(stdout), program.length === 1);
});

test('the executable file works alone in an empty folder', async (t) => {
  const folder = temporaryFolder(t);
  copyFileSync(program.at(-1) as string, join(folder, 'svc'));
  const { NODE_PATH: _, ...env } = process.env;
  const end = (...args: string[]) => spawnSync(join(folder, 'svc'), args, { cwd: folder, env, encoding: 'utf8' });
  assert.equal(end('--version').status, 0);
  writeFileSync(join(folder, 'package.json'), '{"name":"x"}');
  assert.match(
    end('validate').stderr,
    /^svc: No configuration file was found/,
    'the package.json of another project is not a configuration',
  );
});
