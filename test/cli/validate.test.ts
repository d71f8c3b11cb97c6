import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { TestAuthority } from '../support/acme-authority.ts';
import { selfSigned } from '../support/certificates.ts';
import { program, run } from '../support/child.ts';
import { runProgram } from '../support/program.ts';
import { startReceiver } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { makeOpensshKey } from '../support/ssh.ts';
import { temporaryFolder } from '../support/temp.ts';
import { assertWrongServices } from '../support/wrong-services.ts';

const warning = 'services: {web: {type: http}}\nevent_handlers: {h: {type: http, url: "http://127.0.0.1/", retry_increase: 1}}\n';

test('with --strict, a warning gives exit code 1; --sarif and --json write nothing else to stdout', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'w.yaml'), warning);
  const plain = await run(t, ['validate', 'w.yaml'], { cwd });
  assert.deepEqual([plain.code, /0 errors, 1 warning/.test(plain.stderr)], [0, true], plain.stderr);
  assert.equal((await run(t, ['validate', '--strict', 'w.yaml'], { cwd })).code, 1);
  const json = await run(t, ['validate', '--strict', '--json', 'w.yaml'], { cwd });
  assert.deepEqual([json.code, json.stderr, JSON.parse(json.stdout).valid], [1, '', false]);
  const sarif = await run(t, ['validate', '--sarif', 'w.yaml'], { cwd });
  assert.deepEqual([sarif.code, sarif.stderr], [0, '']);
  const [log] = JSON.parse(sarif.stdout).runs;
  const [result] = log.results;
  assert.equal(result.ruleId, 'no-effect');
  assert.equal(result.level, 'warning');
  assert.deepEqual(result.locations[0].physicalLocation, {
    artifactLocation: { uri: `file://${join(cwd, 'w.yaml')}` },
    region: { startLine: 2, startColumn: 76 },
  });
  assert.equal(log.tool.driver.rules[result.ruleIndex].id, 'no-effect');
  assert.equal((await run(t, ['validate', '--sarif', '--json', 'w.yaml'], { cwd })).code, 2);
});

test('`svc validate -` reads stdin; if stdin is empty, it says that no service is enabled', async (t) => {
  const cwd = temporaryFolder(t);
  const good = await run(t, ['validate', '-'], { cwd, input: warning });
  assert.deepEqual([good.code, /stdin:2:76: warning\[no-effect\]/.test(good.stderr)], [0, true], good.stderr);
  const empty = await run(t, ['validate', '-'], { cwd });
  assert.deepEqual([empty.code, /no service is enabled/.test(empty.stderr)], [1, true]);
});

test('validate also checks an accounts file: its weak hashes are one warning, and an unusable file is an error', async (t) => {
  const cwd = temporaryFolder(t);
  const method = 'authentications: {local: {type: application, accounts_file_path: ./accounts.yaml}}';
  writeFileSync(join(cwd, 'c.yaml'), `services: {web: {type: http, authentications: [local]}}\n${method}\n`);
  const validate = async (accounts: string) => {
    writeFileSync(join(cwd, 'accounts.yaml'), accounts, { mode: 0o600 });
    const { code, stderr } = await run(t, ['validate', 'c.yaml'], { cwd });
    return [code, stderr.replace(/\n[\s\S]*/, '').replace(/^.*?c\.yaml:/, '')];
  };
  assert.deepEqual(await validate('accounts: {}'), [0, '']);
  const [code, weak = ''] = await validate(
    'alice: {password: "{SHA}vG30WcLVbDuw9jl4R/m/6MtKD+E="}\nbob: {password: "$1$abcdefgh$irWbblnpmw.5z7wgBnprh0"}',
  );
  assert.equal(code, 0);
  assert.match(
    String(weak),
    /^2:66: warning\[weak-password-hash\]: .*accounts_file_path: has 2 hashes .* such as that of "alice" \(SHA-1: .*the first login/,
  );
  const [failed, unusable] = await validate('alice: {password: secret}');
  assert.equal(failed, 1);
  assert.match(String(unusable), /^2:66: error\[file-unreadable\]: .*accounts file .*alice\.password/);
});

/** Files that are not configurations: name, content, exit code, and the expected line. */
const bad: [string, string | Buffer | undefined, number, RegExp][] = [
  ['a missing file', undefined, 2, /^svc: Cannot read the configuration \S+: the file does not exist\.\n$/],
  ['ten megabytes', 'x'.repeat(10 * 1024 * 1024), 2, /^svc: \S+ is larger than 4 MiB\. Move the accounts .*accounts_file_path .*\n$/],
  ['bytes that are no text', Buffer.from([0x61, 0x3a, 0x0a, 0xff, 0xfe]), 1, /:2:1: error\[not-utf8\]: The file is not valid UTF-8\./],
  ['UTF-16', Buffer.from('\ufeffa: b', 'utf16le'), 1, /error\[not-utf8\]: .*UTF-16/],
  ['a NUL', Buffer.from('a: \0b'), 1, /error\[/],
  [
    'thousands of brackets',
    `services:\n  web: ${'['.repeat(100_000)}`,
    1,
    /:2:39: error\[shape\]: Lists and maps are nested deeper than 32 levels\./,
  ],
  ['thousands of lists in lists', '- '.repeat(100_000), 1, /:1:6\d: error\[shape\]: Lists and maps are nested deeper than 32 levels\./],
  ['thousands of maps in maps', '{a: '.repeat(100_000), 1, /:1:1\d\d: error\[shape\]: Lists and maps are nested deeper than 32 levels\./],
  ['thousands of keys of keys', '? '.repeat(100_000), 1, /:1:\d\d: error\[shape\]: Lists and maps are nested deeper than 32 levels\./],
  [
    'a map in a map on each line',
    Array.from({ length: 1000 }, (_, index) => `${' '.repeat(index)}a:\n`).join(''),
    1,
    /:34:\d+: error\[shape\]: Lists and maps are nested deeper than 32 levels\./,
  ],
  ['deep JSON of an option', JSON.stringify({ a: JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) }, null, 1), 1, /:34:34: error\[shape\]/],
  ['thousands of aliases', `a: &a x\nb: [${'*a, '.repeat(2000)}]\n`, 1, /:2:\d+: error\[aliases\]: There are more than 1000 aliases\./],
  [
    'an alias bomb',
    'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c]',
    1,
    /error\[/,
  ],
];

for (const [name, content, code, pattern] of bad) {
  test(`svc validate of ${name}: one clear message, and no stack trace`, async (t) => {
    const cwd = temporaryFolder(t);
    if (content !== undefined) writeFileSync(join(cwd, 'c.yaml'), content);
    const end = await run(t, ['validate', 'c.yaml'], { cwd });
    assert.equal(end.code, code, end.stderr);
    assert.match(end.stderr, pattern);
    assert.doesNotMatch(end.stderr, /\n {4}at /);
    assert.equal(end.stdout, '');
    const json = await run(t, ['validate', 'c.yaml', '--json'], { cwd });
    if (code === 1) assert.equal(JSON.parse(json.stdout).valid, false);
  });
}

test('an endless device is read only up to the limit of 4 MiB', async (t) => {
  const { code, stderr } = await run(t, ['validate', '/dev/zero'], { cwd: temporaryFolder(t) });
  assert.equal(code, 2);
  assert.match(stderr, /^svc: \/dev\/zero is larger than 4 MiB\./);
});

test('usage errors begin with "svc: ", like all errors', async (t) => {
  const cwd = temporaryFolder(t);
  const faults = [['validate', '--nope'], ['validat'], ['validate', 'a', 'b', 'c'], ['serve', '--config'], ['serve', '--log-level', 'inf']];
  for (const args of faults) {
    const { code, stderr } = await run(t, args, { cwd });
    assert.deepEqual([code, stderr.startsWith('svc: '), /^error:/m.test(stderr)], [2, true, false], stderr);
  }
});

test('a folder, and a file without read permission, are refused with the reason', async (t) => {
  const cwd = temporaryFolder(t);
  mkdirSync(join(cwd, 'd'));
  const folder = await run(t, ['validate', 'd'], { cwd });
  assert.deepEqual([folder.code, /is a folder/.test(folder.stderr)], [2, true]);
  if (process.getuid?.() !== 0) return;
  writeFileSync(join(cwd, 'c.yaml'), warning);
  chmodSync(join(cwd, 'c.yaml'), 0);
  chmodSync(cwd, 0o755);
  const unreadable = await run(t, ['validate', 'c.yaml'], { cwd, uid: 65534 });
  assert.deepEqual([unreadable.code, unreadable.stderr.split('\n').length], [2, 2], unreadable.stderr);
  assert.match(
    unreadable.stderr,
    /^svc: Cannot read the configuration \S+c\.yaml: permission denied: it belongs to root:root with mode 0000, and svc runs as "nobody"; change its owner or mode\.\n$/,
  );
  chmodSync(cwd, 0o700);
  const closed = await run(t, ['validate', join(cwd, 'c.yaml')], { cwd: '/', uid: 65534 });
  assert.match(
    closed.stderr,
    /permission denied: \/\S+ belongs to root:root with mode 0700, and svc runs as "nobody"; change its owner or mode\.\n$/,
  );
});

test('validate --online trusts the certificate authorities of a handler', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const cwd = temporaryFolder(t);
  const tls = selfSigned(t);
  writeFileSync(join(cwd, 'ca.pem'), tls.cert);
  const receiver = await startReceiver(t, { tls });
  const config = (ca: string) => `services: {web: {type: http}}\nevent_handlers: {h: {type: http, url: "${receiver.url}" ${ca}}}\n`;
  writeFileSync(join(cwd, 'with.yaml'), config(', ca_certificates_path: ca.pem'));
  writeFileSync(join(cwd, 'without.yaml'), config(''));
  const trusted = await run(t, ['validate', '--online', 'with.yaml'], { cwd });
  assert.equal(trusted.code, 0, trusted.stderr);
  const distrusted = await run(t, ['validate', '--online', 'without.yaml'], { cwd });
  assert.deepEqual([distrusted.code, /error\[online\]: event_handlers\.h\.url/.test(distrusted.stderr)], [1, true], distrusted.stderr);
});

test('validate --online asks the ACME directory, and the DNS for the domains of certificates', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const cwd = temporaryFolder(t);
  const authority = await new TestAuthority(t).listen(t);
  const config = (directory: string, domain: string) =>
    `services: {web: {type: https, tls: {acme: {directory: "${directory}", domains: ${domain}, ca_certificates_path: "${authority.caPath}"}}}}`;
  writeFileSync(join(cwd, 'good.yaml'), config(authority.directory, 'localhost'));
  writeFileSync(join(cwd, 'bad.yaml'), config(`${authority.base}/else`, 'no.such.name.invalid'));
  const good = await run(t, ['validate', '--online', 'good.yaml'], { cwd });
  assert.equal(good.code, 0, good.stderr);
  const bad = await run(t, ['validate', '--online', 'bad.yaml'], { cwd });
  assert.equal(bad.code, 1);
  assert.match(
    bad.stderr,
    /error\[online\]: services\.web\.tls\.acme\.directory: .*\/else: the authority gave no https URL for "newNonce"/,
  );
  assert.match(bad.stderr, /error\[online\]: services\.web\.tls\.acme\.domains: no\.such\.name\.invalid: .*(ENOTFOUND|EAI_AGAIN)/);
});

test('`svc validate -` accepts the configuration that `svc init -` prints; with closed stdin, no command crashes', async (t) => {
  const cwd = temporaryFolder(t);
  const init = await run(t, ['init', '-'], { cwd });
  assert.deepEqual([init.code, readdirSync(cwd)], [0, []]);
  assert.equal((await run(t, ['validate', '-'], { cwd, input: init.stdout })).code, 0);
  for (const [args, code] of [
    ['validate -', 1],
    ['test -', 2],
    ['hash-password', 2],
    ['webhook-replay - --url http://127.0.0.1:1/', 0],
  ] as const) {
    const end = spawnSync('sh', ['-c', `exec "$0" "$@" ${args} <&-`, ...program], { cwd, encoding: 'utf8' });
    assert.equal(end.status, code, `${args}: ${end.stdout}${end.stderr}`);
    assert.doesNotMatch(end.stderr, /\n\s+at |should not happen/);
  }
});

test('500 invalid services are reported, each with its place', (t) => assertWrongServices(t, 500));

test('host keys have the same fingerprints as in ssh-keygen; keys that do not exist yet are mentioned', async (t) => {
  if (!hasProgram(t, 'ssh-keygen')) return;
  const cwd = temporaryFolder(t);
  const [ed25519, rsa] = [
    await makeOpensshKey(cwd, 'host.key', '-t', 'ed25519'),
    await makeOpensshKey(cwd, 'rsa.key', '-t', 'rsa', '-b', '2048', '-m', 'PEM'),
  ];
  const services = { sftp: { type: 'ssh', host_key_paths: [ed25519, rsa] }, own: { type: 'ssh', port: 2223 } };
  writeFileSync(join(cwd, 'c.json'), JSON.stringify({ services, groups: { DEFAULT_GROUP: { home_folder_path: cwd } } }));
  const end = await run(t, ['validate', 'c.json'], { cwd });
  assert.equal(end.code, 0, end.stderr);
  const shown = [...end.stdout.matchAll(/^host key of sftp: (\S+) \((\S+)\)$/gm)].map(([, fingerprint, type]) => [type, fingerprint]);
  const fingerprints = await Promise.all([ed25519, rsa].map((path) => runProgram('ssh-keygen', ['-lf', path], { cwd })));
  assert.deepEqual(
    shown,
    ['ssh-ed25519', 'ssh-rsa'].map((type, index) => [type, fingerprints[index]?.output.split(' ')[1]]),
  );
  assert.match(end.stdout, /^host keys of own: its first start creates them/m);
});
