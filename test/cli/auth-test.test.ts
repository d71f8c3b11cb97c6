import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import { selfSign } from '../support/certificates.ts';
import { type Mock, run, startMock } from '../support/child.ts';
import { processesIn, projectOf, runCiScript } from '../support/ci-script.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { makeKey, publicKey } from '../support/ssh.ts';
import { temporaryFolder } from '../support/temp.ts';

function mock(t: TestContext, ...args: string[]): Promise<Mock> {
  return startMock(t, ['auth', ...args], temporaryFolder(t));
}

const alice = ['--username', 'alice', '--password', 'marker-secret'];

test('auth-test has an exit code for each outcome; svc mock auth produces these outcomes', async (t) => {
  const cwd = temporaryFolder(t);
  const cases: [string[], string[], number, RegExp][] = [
    [['--accept', 'alice:marker-secret'], [], 0, /authenticated 204/],
    [['--accept', 'alice:other'], [], 10, /next 401/],
    [['--reject', 'alice'], [], 11, /rejected 403/],
    [['--default', 'reject'], [], 11, /rejected 403/],
    [['--status', '500'], [], 11, /rejected 500/],
    [['--status', '404'], [], 11, /warning: the status looks like a wrong path/],
    [['--fault', 'redirect'], [], 11, /warning: redirects are not followed/],
    [['--fault', 'drop'], [], 12, /no reply: the connection was closed/],
    [['--fault', 'garbage'], [], 12, /invalid reply: .*not valid HTTP/],
    [['--fault', 'half'], [], 12, /invalid reply: .*closed before the reply/],
    [['--fault', 'hang'], ['--timeout', '0.3'], 12, /no complete reply within 0.3 s/],
    [
      ['--accept', 'alice:marker-secret', '--delay', '0.9'],
      ['--timeout', '1.5'],
      0,
      /warning: the reply took \d\.\d s of the 1\.5 s allowed/,
    ],
    [['--status', '200', '--body', '{"account":{"Home_Folder_Path":"/x"}}'], [], 12, /keys are lower-case: "home_folder_path"/],
    [['--status', '200', '--body', '<!doctype html><p>Sign in'], [], 12, /warning: the body is an HTML page/],
    [['--status', '401', '--body', 'x'.repeat(300)], [], 10, /warning: the 401 body has 300 bytes/],
    [
      ['--status', '403', '--body', '{"code":5,"message":"m","extra":"e","public_response":{"a":1}}'],
      [],
      11,
      /failure: \{"code":5,"message":"m","extra":"e","public_response":\{"a":1\}\}/,
    ],
    [['--accept', 'alice:marker-secret'], ['--expect', 'authenticated'], 0, /as expected/],
    [['--accept', 'alice:marker-secret'], ['--expect', 'rejected'], 1, /expected rejected, got authenticated/],
    [['--fault', 'drop'], ['--expect', 'rejected'], 0, /as expected/],
  ];
  const mocks = new Map<string, string>();
  for (const [mockArgs, args, code, pattern] of cases) {
    const key = mockArgs.join(' ');
    const url = mocks.get(key) ?? (await mock(t, ...mockArgs)).url;
    mocks.set(key, url);
    const end = await run(t, ['auth-test', '--url', url, ...alice, ...args], { cwd });
    assert.equal(end.code, code, `${mockArgs.join(' ')}\n${end.stdout}${end.stderr}`);
    assert.match(end.stdout, pattern);
    assert.equal((end.stdout + end.stderr).includes('marker-secret'), false);
  }
  const refused = await run(t, ['auth-test', '--url', 'http://127.0.0.1:1/', ...alice], { cwd });
  assert.deepEqual([refused.code, /no reply: the connection was refused/.test(refused.stdout)], [12, true]);
});

test('auth-test --json shows the account of the reply; --show-request masks secrets, and the mock prints none', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'account.json'), '{"home_folder_path":"/srv/a","permissions":[["allow-read"]]}');
  const { url, stdout } = await startMock(t, ['auth', '--accept', 'alice:marker-secret=account.json'], cwd);
  const json = await run(t, ['auth-test', '--url', url, '--password-stdin', '--username', 'alice', '--json'], {
    cwd,
    input: 'marker-secret\n',
  });
  const document = JSON.parse(json.stdout);
  assert.deepEqual(
    [json.code, document.outcome, document.methods[0].status, document.methods[0].account.home_folder_path],
    [0, 'authenticated', 200, '/srv/a'],
  );
  const shown = await run(
    t,
    [
      'auth-test',
      '--url',
      url,
      ...alice,
      '--header',
      'X-Key: marker-key',
      '--basic',
      'u:marker-basic',
      '--show-request',
      '--peer',
      '[2001:db8::1]:99',
    ],
    { cwd },
  );
  assert.match(
    shown.stdout,
    /POST http:[\s\S]*X-Key: \*\*\*[\s\S]*"content": "\*\*\*"[\s\S]*"address": "2001:db8::1",\n {6}"port": 99,\n {6}"family": "IPv6"/,
  );
  await until('the mock printed both requests', () => stdout().split('-> 200').length === 3);
  assert.equal(/marker/.test(shown.stdout + stdout()), false, 'no secret is in the output of auth-test or of the mock');
});

test('--show-request --json adds the masked request as a member', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(
    join(cwd, 'svc.config.json'),
    JSON.stringify({
      server: { uuid: 'srv', data_folder_path: 'data' },
      services: { web: { type: 'http', port: 0 } },
      authentications: {
        first: { type: 'http', url: 'http://127.0.0.1:1/a?key=marker-query, http://127.0.0.1:1/b', headers: 'X-Key: marker-key' },
        second: { type: 'http', url: 'http://127.0.0.1:1/c', username: 'gate', password: 'marker-way' },
      },
    }),
  );
  const end = await run(t, ['auth-test', ...alice, '--show-request', '--json', '--peer', '192.0.2.1:4711'], { cwd });
  const document = JSON.parse(end.stdout);
  const type = { 'Content-Type': 'application/json; charset=utf-8' };
  assert.deepEqual(document.request, {
    method: 'POST',
    endpoints: [
      { url: 'http://127.0.0.1:1/a?…', headers: { ...type, 'X-Key': '***' } },
      { url: 'http://127.0.0.1:1/b', headers: { ...type, 'X-Key': '***' } },
      { url: 'http://127.0.0.1:1/c', headers: { ...type, Authorization: '***' } },
    ],
    body: {
      credentials: {
        type: 'password',
        username: 'alice',
        content: '***',
        peer: { address: '192.0.2.1', port: 4711, family: 'IPv4', protocol: 'TCP' },
        creator: { uuid: 'svc-auth-test', type: 'https' },
      },
      server: { uuid: 'srv' },
    },
  });
  assert.equal(/marker/.test(end.stdout + end.stderr), false);
  assert.deepEqual(jsonOutputs['auth-test'].parse(document), document);
  const without = await run(t, ['auth-test', ...alice, '--json'], { cwd });
  assert.equal('request' in JSON.parse(without.stdout), false);
});

test('reason texts in UTF-8 are printed without control sequences for the terminal', async (t) => {
  const cwd = temporaryFolder(t);
  let reason = 'Gesperrt für Gäste – 停止';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.from(`HTTP/1.1 403 ${reason}\r\nContent-Length: 0\r\n\r\n`)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const ask = async (...more: string[]) => (await run(t, ['auth-test', '--url', url, ...alice, ...more], { cwd })).stdout;
  assert.equal(JSON.parse(await ask('--json')).methods[0].status_reason, reason);
  assert.ok((await ask()).includes(`403 ${reason}`));
  reason = 'red \u009b31m';
  assert.equal((await ask()).includes('\u009b'), false);
});

test('with a configuration, auth-test asks all methods in order, or only one, and shows the effective account', async (t) => {
  const cwd = temporaryFolder(t);
  const { url } = await mock(t, '--accept', 'zoe:z');
  const hash = await cheapHash('marker-secret');
  writeFileSync(
    join(cwd, 'svc.config.yaml'),
    `authentications:\n  remote: {type: http, url: "${url}"}\n  local: {type: application}\ngroups: {DEFAULT_GROUP: {home_folder_path: "/srv/\${USER}", home_folder_structure: [in]}}\naccounts: {alice: {password: "${hash}"}}\nservices: {web: {type: http}}\n`,
  );
  const chain = JSON.parse((await run(t, ['auth-test', ...alice, '--json'], { cwd })).stdout);
  assert.deepEqual(
    chain.methods.map((method: { method: string; outcome: string }) => [method.method, method.outcome]),
    [
      ['remote', 'next'],
      ['local', 'authenticated'],
    ],
  );
  const { name, group, home_folder_path, home_folder_structure, permissions } = chain.methods[1].account;
  assert.deepEqual(
    [name, group, home_folder_path, home_folder_structure, permissions],
    ['alice', 'DEFAULT_GROUP', '/srv/alice', ['in'], [['allow-full-control']]],
  );
  assert.equal((await run(t, ['auth-test', ...alice, '--method', 'remote'], { cwd })).code, 10);
  assert.equal((await run(t, ['auth-test', ...alice, '--method', 'nobody'], { cwd })).code, 2);
  assert.equal((await run(t, ['auth-test', '--username', 'zoe', '--password', 'z'], { cwd })).code, 0);
});

test('auth-test sends SSH keys and certificates; unusable ones, and options that contradict one another, are usage errors', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const cwd = temporaryFolder(t);
  const blob = 'AAAAC3NzaC1lZDI1NTE5AAAAIJ2Y0v6v7R7e0fQ5n2a6c1';
  writeFileSync(join(cwd, 'key.pub'), `ssh-ed25519 ${blob} me@here\n`);
  writeFileSync(join(cwd, 'bad.pub'), 'not a key');
  selfSign(cwd, { key: 'k', cert: 'c.pem' }, '/CN=carol');
  const { url, stdout } = await mock(t, '--accept', 'alice:x', '--accept', 'carol:x', '--json');
  assert.equal((await run(t, ['auth-test', '--url', url, '--username', 'alice', '--ssh-key', 'key.pub'], { cwd })).code, 0);
  assert.equal((await run(t, ['auth-test', '--url', url, '--certificate', 'c.pem'], { cwd })).code, 0);
  await until('the mock printed both requests', () => stdout().includes('carol'));
  assert.match(stdout(), /"type":"ssh-key","username":"alice"[^\n]*"creator":\{"uuid":"svc-auth-test","type":"ssh"\}/);
  assert.match(stdout(), /"type":"ssl-certificate","username":"carol"/);
  assert.equal(stdout().includes(blob), false);
  for (const args of [
    ['--username', 'a', '--ssh-key', 'bad.pub'],
    ['--username', 'a', '--ssh-key', 'none'],
    ['--certificate', 'bad.pub'],
    ['--username', 'a'],
    ['--password', 'x'],
    [...alice, '--ssh-key', 'key.pub'],
    [...alice, '--peer', 'nonsense'],
    [...alice, '--basic', 'x', '--method', 'm'],
  ]) {
    assert.equal((await run(t, ['auth-test', '--url', url, ...args], { cwd })).code, 2, args.join(' '));
  }
});

test('the callout example runs its suite in a CI script, which writes a JUnit report', async (t) => {
  const cwd = projectOf(t, 'callout');
  const { code, output } = await runCiScript(t, cwd);
  assert.equal(code, 0, output);
  assert.deepEqual(processesIn(cwd), []);
  assert.match(output, /^ok {3}staff get their own folder structure\nok {3}.*\nok {3}.*\nok {3}.*\nok {3}.*\n5 cases passed, 0 failed\n$/);
  assert.match(readFileSync(join(cwd, 'report.xml'), 'utf8'), /<testsuites tests="5" failures="0"/);
  const { url } = await mock(t, '--default', 'reject');
  const failing = await run(t, ['auth-test', '--suite', 'cases.yaml', '--junit', 'fail.xml', '--json'], { cwd, env: { CALLOUT_URL: url } });
  assert.equal(failing.code, 1);
  assert.deepEqual(
    failing.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).passed),
    [false, false, true, false, false],
  );
  assert.match(
    readFileSync(join(cwd, 'fail.xml'), 'utf8'),
    /<failure message="expected authenticated, got rejected \(The endpoint forbids the account \(403\)\.\)"\/>/,
  );
  writeFileSync(join(cwd, 'bad.yaml'), '- {username: a, expect: maybe}\n');
  const bad = await run(t, ['auth-test', '--suite', 'bad.yaml'], { cwd });
  assert.deepEqual([bad.code, /case 1: expect/.test(bad.stderr)], [2, true]);
});

test('over SSH, the credentials that the group requires decide: one of two is partial, a wrong type is refused, both together pass', async (t) => {
  const cwd = temporaryFolder(t);
  const key = makeKey(cwd, 'id');
  const ssh_keys = [publicKey(key)];
  const password = await cheapHash('marker-secret');
  const group = (required_credentials: string) => ({ home_folder_path: cwd, required_credentials });
  writeFileSync(
    join(cwd, 'svc.config.json'),
    JSON.stringify({
      server: { uuid: 'srv', data_folder_path: 'data' },
      groups: { DEFAULT_GROUP: group('any'), BOTH: group('both'), KEYS: group('ssh-key') },
      accounts: { alice: { group: 'BOTH', ssh_keys, password }, bob: { group: 'KEYS', ssh_keys, password }, carol: { ssh_keys, password } },
      services: { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0 } },
    }),
    { mode: 0o600 },
  );
  const first = await run(t, ['auth-test', '--username', 'alice', '--ssh-key', `${key}.pub`, '--json'], { cwd });
  const document = JSON.parse(first.stdout);
  assert.deepEqual([first.code, document.outcome, document.methods[0].credentials], [13, 'partial', 'ssh-key'], first.stderr);
  assert.deepEqual(document.login.credentials, [
    {
      type: 'ssh-key',
      outcome: 'partial',
      reason: 'the key is accepted as the first of two: the group "BOTH" requires both',
      offered: ['password', 'keyboard-interactive'],
    },
  ]);
  assert.deepEqual(jsonOutputs['auth-test'].parse(document), document);
  const both = await run(t, ['auth-test', ...alice, '--ssh-key', `${key}.pub`], { cwd });
  assert.equal(both.code, 0, both.stdout + both.stderr);
  assert.match(
    both.stdout,
    /^application \(application, ssh-key\): authenticated[\s\S]*^application \(application, password\): authenticated/m,
  );
  assert.match(
    both.stdout,
    /sftp \(ssh\): partial, .*offered next: password, keyboard-interactive\nsftp \(ssh\): granted, the password is accepted as the second of two/,
  );

  const blob = ssh_keys[0]?.split(' ')[1];
  const cases = [
    { name: 'over https the password is enough', username: 'alice', password: 'marker-secret', expect: 'authenticated' },
    { name: 'a wrong password after the key', username: 'alice', ssh_key: blob, password: 'wrong', expect: 'next' },
    { name: 'a key alone where keys are required', username: 'bob', ssh_key: blob, expect: 'authenticated' },
    { name: 'any of two', username: 'carol', ssh_key: blob, password: 'wrong', expect: 'authenticated' },
  ];
  writeFileSync(join(cwd, 'cases.config.json'), JSON.stringify(cases));
  const suite = await run(t, ['auth-test', '--suite', 'cases.config.json'], { cwd });
  assert.equal(suite.code, 0, suite.stdout);
  writeFileSync(
    join(cwd, 'ssh.config.json'),
    JSON.stringify([
      { username: 'alice', password: 'marker-secret', expect: 'partial' },
      { username: 'bob', password: 'marker-secret', expect: 'authenticated' },
    ]),
  );
  const refused = await run(t, ['auth-test', '--suite', 'ssh.config.json', '--creator-type', 'ssh'], { cwd });
  assert.match(
    refused.stdout,
    /^ok {3}alice: partial\nFAIL bob: authenticated: expected authenticated, got rejected \(the group "KEYS" requires ssh-key\)/,
  );
});
