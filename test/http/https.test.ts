import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { selfSign, signByAuthority } from '../support/certificates.ts';
import { hasProgram } from '../support/requires.ts';
import { testBasic, testPassword } from '../support/secrets.ts';
import { startServer, testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

/** A private CA with a server certificate and a client certificate of alice. */
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

test('files over HTTPS, HTTP/1.1 and HTTP/2; the session cookie is Secure', async (t) => {
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

test('a client certificate authenticates as its CN; one that does not verify lets nobody in', async (t) => {
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
  assert.equal((await get('stranger')).status, 401, 'the same CN from another authority');
});

test('a reload takes a renewed certificate', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { server, make, options } = await startHttps(t);
  const fingerprint = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      });
      socket.on('error', reject);
    });
  const before = await fingerprint();
  make('server', '/CN=localhost', 'subjectAltName=IP:127.0.0.1');
  await server.service.reload(await testConfig(server.folder, { services: { web: options } }));
  assert.notEqual(await fingerprint(), before);
});
