import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { selfSigned } from '../support/certificates.ts';
import { connectRaw, type RawHttp2 } from '../support/http2-raw.mjs';
import { leaveAtAllMoments, leaveStreamsAtAllMoments } from '../support/leaving-clients.ts';
import { openBelow } from '../support/open-files.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testBasic, testPassword } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';

async function rawConnection(server: TestServer, ca: string, session: string): Promise<RawHttp2> {
  const connection = connectRaw(server.url, ca, session);
  await connection.ready;
  return connection;
}

const options = { timeout: 240_000 };

test('after a client left at any moment, no descriptor or temporary file is left, and the end of each upload is reported', options, (t) =>
  leaveAtAllMoments(t, 20),
);

test('after a client left an HTTP/2 stream at any moment, nothing is left open', options, (t) =>
  hasProgram(t, 'openssl') ? leaveStreamsAtAllMoments(t, 45) : undefined,
);

test('an upload on an HTTP/2 stream that is reset without an error code is not complete', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { cert, certPath, keyPath } = selfSigned(t);
  const server = await startServer(t, { service: { type: 'https', tls_certificate_path: certPath, tls_key_path: keyPath } });
  const connection = await rawConnection(server, cert, '');
  connection.cutShort('/home/cut', testBasic, 'half of it');
  await until('the end of the upload is reported', async () => (await server.eventIds()).some((id) => id === 40022 || id === 40017));
  connection.socket.destroy();
  assert.deepEqual(readdirSync(server.home), []);
});

test('downloads on HTTP/2 streams that are reset without an error code are closed, although the connection stays', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { cert, certPath, keyPath } = selfSigned(t);
  const server = await startServer(t, { service: { type: 'https', tls_certificate_path: certPath, tls_key_path: keyPath } });
  writeFileSync(join(server.home, 'large'), '');
  truncateSync(join(server.home, 'large'), 5_000_000);
  writeFileSync(join(server.home, 'small'), Buffer.alloc(100_000));
  const login = await server.send('POST', '/__svc__/login', {
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ username: 'alice', password: testPassword }),
    user: null,
    ca: cert,
  });
  const connection = await rawConnection(server, cert, login.json<{ results: [{ session: string }] }>().results[0].session);
  for (let index = 0; index < 20; index++) for (const path of ['/home/large', '/home/small']) connection.giveUp(path);
  await until('all downloads have begun', async () => (await server.eventIds()).filter((id) => id === 40004).length === 40);
  await until('all files are closed', () => openBelow(server.home).length === 0);
  await until('the end of each download is reported', async () => (await server.eventIds()).filter((id) => id === 40040).length === 40);
  assert.equal(connection.socket.destroyed, false);
  connection.socket.destroy();
});

/** Sends a request without reading the reply. @returns a function that makes the client leave */
function ask(server: TestServer, target: string, headers: string): () => void {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: ${testBasic}\r\n${headers}\r\n\r\n`);
  return () => socket.destroy();
}

test('an archive whose client leaves while its members are looked up is abandoned', async (t) => {
  const server = await startServer(t);
  const events = async (id: number) => (await server.eventIds()).filter((other) => other === id).length;
  let folders = 0;
  /** Returns whether the client left before the archive began, that is, whether the lookups took long enough. */
  const leavesInTime = async (wanted: number): Promise<boolean> => {
    for (; folders < wanted; folders++) mkdirSync(join(server.home, `d${folders}`));
    const [begun, ended] = [await events(40016), await events(40041)];
    const leave = ask(server, '/home/', 'Accept: application/zip');
    setTimeout(leave, 20);
    await until('the end of the archive is reported', async () => (await events(40041)) > ended);
    return (await events(40016)) === begun;
  };
  for (const wanted of [2000, 8000, 32_000]) if (await leavesInTime(wanted)) return;
  assert.fail('the archive was begun for a client that had left');
});

test('a digest whose client leaves while it is computed is abandoned', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'huge'), '');
  truncateSync(join(server.home, 'huge'), 200 * 2 ** 30);
  const leave = ask(server, '/home/huge', 'Want-Repr-Digest: sha-256=1');
  await until('the file is open', () => openBelow(server.home).length > 0);
  leave();
  await until('the file is closed', () => openBelow(server.home).length === 0);
  await until('the end of the download is reported', async () => (await server.eventIds()).includes(40040));
});
