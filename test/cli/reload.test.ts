import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { selfSigned } from '../support/certificates.ts';
import { run, start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { cheapHash } from '../support/passwords.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testPassword } from '../support/secrets.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { stallDownload } from '../support/stalled-transfers.ts';
import { temporaryFolder } from '../support/temp.ts';

const base = 'groups: {DEFAULT_GROUP: {home_folder_path: ./f}}\n';

async function serve(t: TestContext, services: string) {
  const cwd = temporaryFolder(t);
  const file = join(cwd, 'svc.config.yaml');
  const write = (text: string) => writeFileSync(file, base + text);
  write(services);
  const server = start(t, ['serve'], { cwd });
  const [, url = ''] = await server.line(/listening on (\S+)\/\n/);
  return { cwd, write, server, url };
}

test('svc reload lists the changes, or refuses an invalid configuration with its findings, also as JSON', async (t) => {
  const { cwd, write, url } = await serve(t, 'services: {web: {type: http, port: 0}}\n');
  const nothing = await run(t, ['reload'], { cwd });
  assert.deepEqual([nothing.code, nothing.stdout, nothing.stderr], [0, 'reloaded: nothing changed\n', '']);
  write('services: {web: {type: http, port: 0, headers: {X-New: "1"}, public_error: yes}}\n');
  const changed = await run(t, ['reload'], { cwd });
  assert.equal(changed.stdout, 'reloaded: 2 changes\n  services.web.public_error\n  services.web.headers\n');
  assert.equal((await fetch(`${url}/home/`)).headers.get('x-new'), '1', 'the change applies on the same listener');
  write('services: {web: {type: http, prot: 1}}\n');
  const refused = await run(t, ['reload'], { cwd });
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.match(refused.stderr, /svc\.config\.yaml:2:30: error\[unknown-option\]: services\.web\.prot.*\n {4}services: .*\n {33}\^/);
  assert.match(refused.stderr, /keeps the old one/);
  const json = await run(t, ['reload', '--json', '--data-folder', 'svc-data'], { cwd });
  const report = JSON.parse(json.stdout);
  assert.deepEqual([json.code, json.stderr, report.reloaded, report.findings[0].code, report.number], [1, '', false, 'unknown-option', 4]);
  assert.equal((await fetch(`${url}/home/`)).headers.get('x-new'), '1', 'the old configuration stays');
  const journal = readFileSync(join(cwd, 'svc-data/journal/events-00000001.ndjson'), 'utf8');
  const reloads = journal.split('\n').filter((line) => line.includes('"id":"20012"'));
  assert.deepEqual(
    reloads.map((line) => JSON.parse(line).data.changes),
    [[], ['services.web.public_error', 'services.web.headers']],
  );
});

test('reload without a service exits with 3; a service without a configuration says so', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'svc.config.yaml'), `${base}services: {web: {type: http, port: 0}}\n`);
  const none = await run(t, ['reload'], { cwd });
  assert.deepEqual([none.code, /No service is running/.test(none.stderr)], [3, true], none.stderr);
  assert.equal(existsSync(join(cwd, 'svc-data')), false, 'nothing is created');
  const empty = temporaryFolder(t);
  const server = start(t, ['serve', '--port', '0', '--user', 'a:secret-words'], { cwd: empty });
  await server.line(/listening/);
  const refused = await run(t, ['reload', '--data-folder', 'svc-data'], { cwd: empty });
  assert.deepEqual([refused.code, /no configuration file to reload/.test(refused.stderr)], [1, true], refused.stderr);
});

test('a pipe in place of the configuration is refused without waiting for a writer', async (t) => {
  const { cwd, url } = await serve(t, 'services: {web: {type: http, port: 0}}\n');
  const file = join(cwd, 'svc.config.yaml');
  renameSync(file, `${file}.before`);
  execFileSync('mkfifo', [file]);
  const refused = await run(t, ['reload', '--json', '--data-folder', 'svc-data'], { cwd });
  assert.deepEqual([refused.code, /is a pipe or a device/.test(JSON.parse(refused.stdout).reason)], [1, true], refused.stdout);
  assert.equal((await fetch(`${url}/home/`)).status, 401, 'the service continues');
  renameSync(`${file}.before`, file);
  assert.equal((await run(t, ['reload'], { cwd })).code, 0);
});

test('after several signals in a row, svc reload succeeds, and the process still runs', async (t) => {
  const { cwd, write, server } = await serve(t, 'services: {web: {type: http, port: 0}}\n');
  for (let round = 1; round <= 5; round++) {
    write(`services: {web: {type: http, port: 0, name: "n${round}"}}\n`);
    server.child.kill('SIGHUP');
    await sleep(5);
  }
  const end = await run(t, ['reload'], { cwd });
  assert.equal(end.code, 0, end.stderr);
  assert.equal(JSON.parse(readFileSync(join(cwd, 'svc-data/last-reload.json'), 'utf8')).reloaded, true);
  assert.equal(server.child.exitCode, null);
});

test('svc reload shows the result of a reload that began after the command, not of one that was already running', async (t) => {
  const held: ServerResponse[] = [];
  let asks = 0;
  const endpoint = createServer((_, response) => {
    if (asks++ === 0) response.writeHead(401).end();
    else held.push(response);
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  t.after(() => endpoint.close());
  const { port } = endpoint.address() as AddressInfo;
  const named = (name: string) => `authentications: {remote: {type: http, url: 'http://127.0.0.1:${port}/', test_at_start: true}}
services: {web: {type: http, port: 0, ${name}}}
`;
  const { cwd, write, server } = await serve(t, named('name: a'));
  write(named('name: b'));
  server.child.kill('SIGHUP');
  await until('the first reload asks the callout', () => held.length > 0);
  write(named('name: b, public_error: yes'));
  const asked = start(t, ['reload', '--json'], { cwd });
  // The reload that `svc reload` requests waits until the first reload is done.
  await sleep(1500);
  held[0]?.writeHead(401).end();
  await until('the second reload asks the callout, too', () => held.length === 2);
  await sleep(300);
  held[1]?.writeHead(401).end();
  const { code, stdout } = await asked.ended;
  assert.deepEqual([code, JSON.parse(stdout).changes], [0, ['services.web.public_error']]);
});

function fingerprint(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

test('renewed TLS files are used without a signal, but only when both files of a pair are new', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const cwd = temporaryFolder(t);
  const replace = (name: string, text: string) => {
    writeFileSync(join(cwd, `${name}.new`), text, { mode: 0o600 });
    renameSync(join(cwd, `${name}.new`), join(cwd, name));
  };
  const [first, second] = [selfSigned(t), selfSigned(t)];
  replace('cert.pem', first.cert);
  replace('key.pem', first.key);
  writeFileSync(
    join(cwd, 'svc.config.yaml'),
    `${base}services: {web: {type: https, port: 0, tls_certificate_path: cert.pem, tls_key_path: key.pem}}\n`,
  );
  const server = start(t, ['serve'], { cwd });
  const port = Number((await server.line(/:(\d+)\/\n/))[1]);
  const before = await fingerprint(port);
  const logged = async (pattern: RegExp) => {
    for (let round = 0; round < 150 && !pattern.test(server.stderr()); round++) await sleep(100);
    assert.match(server.stderr(), pattern);
  };
  replace('cert.pem', second.cert);
  await logged(/cannot be used; the previous ones stay in use/);
  assert.equal(await fingerprint(port), before);
  replace('key.pem', second.key);
  await logged(/changed and are in use/);
  assert.notEqual(await fingerprint(port), before);
});

test('transfers, sessions and positions of handlers survive a reload, over HTTP and SFTP', async (t) => {
  const cwd = temporaryFolder(t);
  const receiver = await startReceiver(t);
  const hash = await cheapHash(testPassword);
  writeFileSync(join(cwd, 'host_key'), generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const write = (name: string) =>
    writeFileSync(
      join(cwd, 'svc.config.yaml'),
      `${base}accounts: {alice: {password: "${hash}"}}
services:
  web: {type: http, port: 0, name: ${name}}
  sftp: {type: ssh, port: 0, host_key_paths: [host_key], before_login_message: ${name}, maximum_handles: ${name === 'before' ? 10 : 1}}
event_handlers: {h: {type: http, url: "${receiver.url}", target: "40017, 30068"}}
`,
      { mode: 0o600 },
    );
  write('before');
  const server = start(t, ['serve'], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  const sshPort = Number((await server.line(/sftp:\/\/[^:]+:(\d+)/))[1]);
  const authorization = `session ${await client.login()}`;
  assert.equal((await client.put('/home/first', 'x', { user: null, headers: { authorization } })).status, 201);
  await receiver.received(1);
  const upload = request(`${client.url}/home/slow`, { method: 'PUT', headers: { authorization } });
  const answered = new Promise<number | undefined>((resolve) => upload.on('response', (reply) => resolve(reply.statusCode)));
  upload.write('first half, ');
  const { sftp } = await loginSftp(t, sshPort);
  const [writing, reading] = [await sftp.open('by-sftp', 2 | 8), await sftp.open('first', 1)];
  assert.equal(await sftp.write(writing, 0, 'first half, '), 0);
  write('after');
  assert.equal((await run(t, ['reload'], { cwd })).code, 0);
  upload.end('second half');
  assert.equal(await answered, 201);
  assert.equal(readFileSync(join(cwd, 'f/slow'), 'utf8'), 'first half, second half');
  assert.equal((await client.get('/home/first', { user: null, headers: { authorization } })).text, 'x');
  assert.equal(await sftp.write(writing, 12, 'second half'), 0);
  assert.equal(String(await sftp.read(reading, 0, 10)), 'x');
  // Open handles stay open; new ones are subject to the new limits.
  await assert.rejects(sftp.open('first', 1), /Too many files/);
  const banners: string[] = [];
  const next = await loginSftp(t, sshPort, {}, (text) => banners.push(text));
  assert.match(banners.join(''), /^after/);
  await next.sftp.open('first', 1);
  await assert.rejects(next.sftp.open('first', 1), /Too many files/);
  server.child.kill('SIGHUP');
  assert.equal(await sftp.close(writing), 0);
  assert.equal(readFileSync(join(cwd, 'f/by-sftp'), 'utf8'), 'first half, second half');
  await receiver.received(3);
  await sleep(300);
  assert.deepEqual(
    receiver.events().map(({ data }) => data.file_name),
    ['first', 'slow', 'by-sftp'],
    'each event is delivered once, in order',
  );
});

test('svc reload says how many sessions and transfers ended because an account was disabled', async (t) => {
  const cwd = temporaryFolder(t);
  const hash = await cheapHash(testPassword);
  const write = (isEnabled: boolean) =>
    writeFileSync(
      join(cwd, 'svc.config.yaml'),
      `${base}accounts: {alice: {password: "${hash}", enabled: ${isEnabled}}}\nservices: {web: {type: http, port: 0}}\n`,
      { mode: 0o600 },
    );
  write(true);
  const server = start(t, ['serve'], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  const authorization = `session ${await client.login()}`;
  writeFileSync(join(cwd, 'f/large'), Buffer.alloc(32 * 1024 * 1024));
  const download = await stallDownload(client.port, '/home/large', { authorization });
  const before = JSON.parse((await run(t, ['reload', '--json'], { cwd })).stdout);
  assert.deepEqual(before.ended, { sessions: 0, connections: 0, transfers: 0 });
  write(false);
  const { code, stdout } = await run(t, ['reload'], { cwd });
  assert.equal(code, 0);
  assert.match(stdout, /^ended, because the account or its credential is not valid any more: 1 session, 0 SSH connections, 1 transfer$/m);
  assert.ok((await download.finish()) < 32 * 1024 * 1024);
});
