import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { openssl, selfSign, signByAuthority } from '../support/certificates.ts';
import { hasProgram } from '../support/requires.ts';
import { testBasic, testPassword } from '../support/secrets.ts';
import { startServer, testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';
import { visit } from '../support/tls-visit.ts';

/** Makes a private CA with a server certificate and a client certificate of alice. */
function certificates(folder: string) {
  const make = (name: string, subject: string, extension: string) => signByAuthority(folder, name, subject, extension);
  selfSign(folder, { key: 'ca.key', cert: 'ca.crt' }, '/CN=test ca');
  make('server', '/CN=localhost', 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  make('alice', '/CN=alice', 'extendedKeyUsage=clientAuth');
  selfSign(folder, { key: 'stranger.key', cert: 'stranger.crt' }, '/CN=alice');
  const read = (name: string) => readFileSync(join(folder, name));
  return { ca: read('ca.crt'), make, read };
}

async function startHttps(t: TestContext, service = {}, account = {}) {
  const folder = temporaryFolder(t);
  const made = certificates(folder);
  const options = {
    type: 'https',
    port: 0,
    tls_certificate_path: join(folder, 'server.crt'),
    tls_key_path: join(folder, 'server.key'),
    ...service,
  };
  const server = await startServer(t, { services: { web: options }, account: typeof account === 'function' ? account(made) : account });
  return { server, folder, options, ...made };
}

test('files are stored and read over TLS, by HTTP/1.1 and HTTP/2; the session cookie is Secure', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { server, ca } = await startHttps(t);
  assert.equal((await server.put('/home/a', 'over tls', { ca })).status, 201);
  assert.equal((await server.get('/home/a', { ca })).text, 'over tls');
  const login = await server.send('POST', '/__svc__/login', {
    ca,
    user: null,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `username=alice&password=${testPassword}`,
  });
  assert.match(login.headers['set-cookie']?.[0] ?? '', /; Secure$/);

  const session = connectHttp2(server.url, { ca });
  const authorization = testBasic;
  const large = Buffer.alloc(3_000_000, 'h2');
  const put = await exchange(session, { ':method': 'PUT', ':path': '/home/h2', authorization }, large);
  assert.equal(put.status, 201);
  const got = await exchange(session, { ':path': '/home/h2', authorization });
  assert.ok(got.body.equals(large));
  assert.equal((await exchange(session, { ':path': '/home/h2', authorization, range: 'bytes=0-1' })).status, 206);
  assert.equal((await exchange(session, { ':path': '/home/nothing', authorization })).status, 404);
  assert.equal((await exchange(session, { ':path': '/home/' })).status, 401);
  assert.equal((await exchange(session, { ':method': 'PUT', ':path': '/home/missing/x', authorization }, large)).status, 409);
  session.close();
});

function exchange(session: ClientHttp2Session, headers: Record<string, string>, body?: Buffer): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined });
    let status = 0;
    const chunks: Buffer[] = [];
    stream.on('response', (reply) => {
      status = Number(reply[':status']);
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => resolve({ status, body: Buffer.concat(chunks) }));
    stream.on('error', (error) => (status === 0 ? reject(error) : resolve({ status, body: Buffer.concat(chunks) })));
    if (body) stream.end(body);
  });
}

test('TLS below the minimum is refused', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { server, ca } = await startHttps(t, { tls_minimum_version: 'TLSv1.3' });
  const failure = await new Promise((resolve) => {
    const socket = connectTls({ port: server.port, host: '127.0.0.1', ca, maxVersion: 'TLSv1.2' }, () => resolve('connected'));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  assert.notEqual(failure, 'connected');
});

test('a client certificate logs in the account of its CN; an invalid one logs nobody in', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const folder = temporaryFolder(t);
  const { read } = certificates(folder);
  const options = {
    type: 'https',
    port: 0,
    tls_certificate_path: join(folder, 'server.crt'),
    tls_key_path: join(folder, 'server.key'),
    tls_client_ca_path: join(folder, 'ca.crt'),
  };
  const server = await startServer(t, { services: { web: options }, account: { certificates: [read('alice.crt').toString()] } });
  const get = (name: string | undefined) => {
    const pair = name === undefined ? {} : { cert: read(`${name}.crt`), key: read(`${name}.key`) };
    return server.get('/home/', { user: null, ca: read('ca.crt'), headers: { accept: 'application/json' }, ...pair });
  };
  assert.equal((await get('alice')).status, 200);
  assert.equal((await get(undefined)).status, 401);
  assert.equal((await get('stranger')).status, 401, 'the same CN from another authority does not log in');
});

test('a reload uses a renewed certificate', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { server, make, options, folder } = await startHttps(t);
  make('server', '/CN=localhost', 'subjectAltName=IP:127.0.0.1');
  await server.service.reload(await testConfig(server.folder, { services: { web: options } }));
  const { chain } = await visit(server.url);
  assert.deepEqual(chain, [new X509Certificate(readFileSync(join(folder, 'server.crt'))).raw]);
});

test('after a reload with client authorities, clients are asked for certificates; after a reload without them, they are not', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { server, folder, options, read } = await startHttps(t);
  const alice = { cert: read('alice.crt'), key: read('alice.key') };
  const account = { certificates: [alice.cert.toString()] };
  const asking = { ...options, tls_client_ca_path: join(folder, 'ca.crt') };
  const authorities = async () => {
    const asked = promisify(execFile)('openssl', ['s_client', '-connect', `127.0.0.1:${server.port}`]);
    asked.child.stdin?.end();
    return /Acceptable client certificate CA names\n.*/.exec((await asked).stdout)?.[0] ?? '';
  };
  for (const [web, status] of [
    [options, 401],
    [asking, 200],
    [options, 401],
    [asking, 200],
  ] as const) {
    await server.service.reload(await testConfig(server.folder, { services: { web }, account }));
    assert.equal((await visit(server.url, alice)).status, status);
    assert.equal(/test ca/.test(await authorities()), status === 200);
  }
});

test('the server prefers the cheapest cipher of the client, unless the client lists ChaCha20 first', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { server } = await startHttps(t);
  const [small, large, chacha] = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];
  const older = ['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-AES128-GCM-SHA256'];
  for (const [offered, taken] of [
    [[large, small], small],
    [[large, chacha, small], small],
    [[chacha, large, small], chacha],
    [[large, chacha], large],
    [[large], large],
    [older, older[1]],
  ] as const) {
    const maxVersion = offered === older ? 'TLSv1.2' : 'TLSv1.3';
    assert.equal((await visit(server.url, { ciphers: offered.join(':'), maxVersion })).cipher, taken, offered.join(', '));
  }
});

test('with two pairs of key and certificate, each client gets the certificate that it supports, with its chain', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const folder = temporaryFolder(t);
  selfSign(folder, { key: 'ca.key', cert: 'ca.crt' }, '/CN=test ca');
  openssl(folder, 'req', '-new', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'rsa.key', '-out', 'rsa.csr', '-subj', '/CN=localhost');
  openssl(
    folder,
    'x509',
    '-req',
    '-in',
    'rsa.csr',
    '-CA',
    'ca.crt',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-days',
    '2',
    '-out',
    'rsa.crt',
  );
  selfSign(folder, { key: 'ecdsa.key', cert: 'ecdsa.crt' }, '/CN=localhost', 'IP:127.0.0.1');
  const path = (name: string) => join(folder, name);
  const read = (name: string) => readFileSync(path(name), 'utf8');
  writeFileSync(path('both.crt'), read('rsa.crt') + read('ca.crt') + read('ecdsa.crt'));
  writeFileSync(path('both.key'), read('ecdsa.key') + read('rsa.key'));
  const service = { type: 'https', tls_certificate_path: path('both.crt'), tls_key_path: path('both.key') };
  const server = await startServer(t, { service });
  const raw = (name: string) => new X509Certificate(read(name)).raw;
  const ofEcdsa = await visit(server.url);
  assert.deepEqual(ofEcdsa.chain, [raw('ecdsa.crt')]);
  for (const only of [{ sigalgs: 'rsa_pss_rsae_sha256' }, { ciphers: 'ECDHE-RSA-AES128-GCM-SHA256', maxVersion: 'TLSv1.2' }] as const)
    assert.deepEqual((await visit(server.url, only)).chain, [raw('rsa.crt'), raw('ca.crt')]);
});
