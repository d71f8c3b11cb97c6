import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { selfSigned } from './certificates.ts';
import { openBelow } from './open-files.ts';
import { startReceiver, until } from './receiver.ts';
import { testPassword } from './secrets.ts';
import { startServer, type TestServer } from './server.ts';

/** Time in milliseconds that authentication takes. The back-end's answer to an upload takes the same time. */
const slowMs = 30;

/** Latest time, in milliseconds, at which clients disconnect. By then, no request waits any more. */
const lastMs = 2 * slowMs + 120;

interface Leaving {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** The value of `Content-Length`; without it, the body is chunked. */
  announced?: number;
}

const form = (end: string) =>
  [
    '--b\r\nContent-Disposition: form-data; name="action"\r\n\r\nupload-file\r\n',
    '--b\r\nContent-Disposition: form-data; name="upload-file"; filename="FILE.1"\r\n\r\none\r\n',
    `--b\r\nContent-Disposition: form-data; name="upload-file"; filename="FILE.2"\r\n\r\ntwo${end}`,
  ].join('');
const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
const whole = (body: string) => ({ body, announced: body.length });
const propfind = '<propfind xmlns="DAV:"><allprop/></propfind>';
const command = '{"commands":[{"command":"create-folder","target":"FILE"}]}';

/** Requests that together cover every place where the service waits. `FILE` is replaced by a unique name. */
const requests: Record<string, Leaving> = {
  'a PUT with its whole body': { method: 'PUT', path: '/home/FILE', ...whole('hello') },
  'a PUT with a part of its body': { method: 'PUT', path: '/home/FILE', body: 'hello', announced: 100_000 },
  'a chunked PUT with a part of its body': { method: 'PUT', path: '/home/FILE', body: 'hello' },
  'a PUT over a file': { method: 'PUT', path: '/home/large', body: 'hello', announced: 1000 },
  'a form with its whole body': { method: 'POST', path: '/home/', headers: multipart, ...whole(form('\r\n--b--\r\n')) },
  'a form with a part of its body': { method: 'POST', path: '/home/', headers: multipart, body: form(''), announced: 100_000 },
  'a form with a part of its body, without the action': {
    method: 'POST',
    path: '/home/',
    headers: multipart,
    body: form('').slice(form('').indexOf('--b', 5)),
    announced: 100_000,
  },
  'a URL-encoded form with a part of its body': {
    method: 'POST',
    path: '/home/',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'action=create-',
    announced: 1000,
  },
  'a command': { method: 'POST', path: '/home/', headers: { 'content-type': 'application/json' }, ...whole(command) },
  'a command with a part of its body': {
    method: 'POST',
    path: '/home/',
    headers: { 'content-type': 'application/json' },
    body: '{',
    announced: 99,
  },
  'a PROPFIND': { method: 'PROPFIND', path: '/home/many/', headers: { depth: '1' }, ...whole(propfind) },
  'a PROPFIND with a part of its body': { method: 'PROPFIND', path: '/home/', headers: { depth: '1' }, body: '<', announced: 99 },
  'a LOCK with a part of its body': { method: 'LOCK', path: '/home/FILE', body: '<', announced: 99 },
  'a PROPPATCH with a part of its body': { method: 'PROPPATCH', path: '/home/large', body: '<', announced: 99 },
  'a GET of a small file': { method: 'GET', path: '/home/small' },
  'a GET of a large file': { method: 'GET', path: '/home/large' },
  'a GET of ranges': { method: 'GET', path: '/home/large', headers: { range: 'bytes=0-99, 1000000-9000000' } },
  'a GET with a digest': { method: 'GET', path: '/home/large', headers: { 'want-repr-digest': 'sha-256=1' } },
  'a GET as ZIP': { method: 'GET', path: '/home/', headers: { accept: 'application/zip' } },
  'a GET of a folder': { method: 'GET', path: '/home/many/', headers: { accept: 'application/json' } },
  'a COPY': { method: 'COPY', path: '/home/many/', headers: { destination: '/home/FILE/' } },
};

async function startSlowServer(t: TestContext, service: Record<string, unknown> = {}): Promise<TestServer> {
  const endpoint = createServer((incoming, outgoing) => {
    incoming.resume().on('end', () => setTimeout(() => outgoing.writeHead(204).end(), slowMs));
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  t.after(() => endpoint.closeAllConnections());
  t.after(() => endpoint.close());
  const url = `http://127.0.0.1:${(endpoint.address() as { port: number }).port}/auth`;
  const receiver = await startReceiver(t, { otherwise: { delayMs: slowMs } });
  const server = await startServer(t, {
    group: { home_folder_structure: [] },
    authentications: { remote: { type: 'http', url, test_at_start: false } },
    service: { api_backend_uuid: 'backend', ...service },
    event_handlers: { backend: { type: 'http', target: '40017', url: receiver.url, data_filter: 'api_backend, yes' } },
  });
  writeFileSync(join(server.home, 'small'), 'x');
  writeFileSync(join(server.home, 'large'), '');
  truncateSync(join(server.home, 'large'), 20_000_000);
  mkdirSync(join(server.home, 'many'));
  for (let index = 0; index < 300; index++) writeFileSync(join(server.home, 'many', `${index}`), '');
  return server;
}

let users = 0;

/** Returns headers of a user who has not been authenticated before. */
function headersOf(request: Leaving, name: string): Record<string, string> {
  const authorization = `Basic ${Buffer.from(`user${users++}:${testPassword}`).toString('base64')}`;
  const { headers = {}, announced } = request;
  const length: Record<string, string> = announced === undefined ? {} : { 'content-length': String(announced) };
  const filled = Object.entries(headers).map(([header, value]) => [header, value.replaceAll('FILE', name)]);
  return { ...Object.fromEntries(filled), ...length, authorization };
}

function overHttp1(server: TestServer, request: Leaving, name: string, afterMs: number): Promise<void> {
  const { method, path, body, announced } = request;
  const isChunked = body !== undefined && announced === undefined;
  const headers = { host: 'x', ...headersOf(request, name), ...(isChunked ? { 'transfer-encoding': 'chunked' } : {}) };
  const lines = Object.entries(headers).map((entry) => entry.join(': '));
  const sent = (body ?? '').replaceAll('FILE', name);
  return new Promise((resolve) => {
    const socket = connect(server.port, '127.0.0.1', async () => {
      socket.write(`${method} ${path.replaceAll('FILE', name)} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      socket.write(isChunked ? `${sent.length.toString(16)}\r\n${sent}\r\n` : sent);
      await sleep(afterMs);
      if (users % 2 === 0) socket.destroy();
      else socket.end();
    });
    // For the service, a reply that is not read is the slowest possible reply.
    socket.pause();
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    setTimeout(() => socket.destroy(), lastMs + 200);
  });
}

async function overHttp2(server: TestServer, ca: string, request: Leaving, name: string, afterMs: number): Promise<void> {
  const { method, path, body } = request;
  const session = connectHttp2(server.url, { ca });
  session.on('error', () => {});
  await once(session, 'connect');
  const stream = session.request(
    { ...headersOf(request, name), ':method': method, ':path': path.replaceAll('FILE', name) },
    { endStream: body === undefined },
  );
  stream.on('error', () => {});
  if (body !== undefined) stream.write(body.replaceAll('FILE', name));
  await sleep(afterMs);
  if (users % 2 === 0) stream.destroy();
  else session.destroy();
  await sleep(50);
  session.destroy();
}

/** Returns the number of uploads that have begun, but have neither completed nor failed. */
async function openUploads(server: TestServer): Promise<number> {
  const ids = (await server.events()).map((event) => Number(event.id));
  const count = (...wanted: number[]) => ids.filter((id) => wanted.includes(id)).length;
  return count(40021) - count(40017, 40022);
}

async function assertNothingIsLeft(server: TestServer, what: string): Promise<void> {
  const left = () => openBelow(server.home).concat(readdirSync(server.home).filter((name) => name.startsWith('.svc-')));
  await until(`${what}: nothing is left`, () => left().length === 0).catch(() => assert.deepEqual(left(), [], what));
  await until(`${what}: every upload that began has an event of its end`, async () => (await openUploads(server)) === 0);
}

/**
 * Makes clients disconnect at all moments of every request. Asserts that no descriptor, temporary file or unfinished upload is left.
 *
 * @param stepMs time between two such moments, in milliseconds
 */
export async function leaveAtAllMoments(t: TestContext, stepMs: number): Promise<void> {
  const server = await startSlowServer(t);
  for (const [what, request] of Object.entries(requests)) {
    await Promise.all(momentsOf(stepMs).map((afterMs) => overHttp1(server, request, `f${afterMs}-${users}`, afterMs)));
    await assertNothingIsLeft(server, what);
  }
  assert.equal((await server.put('/home/whole', 'x')).status, 201);
  const events = await server.events();
  assert.ok(events.filter((event) => event.id === '40022').length > 5, 'uploads were cut off');
  assert.equal(events.filter((event) => event.id === '40003').length, 0, 'no internal error');
}

/** Does the same as `leaveAtAllMoments` with HTTP/2 streams. */
export async function leaveStreamsAtAllMoments(t: TestContext, stepMs: number): Promise<void> {
  const { cert, certPath, keyPath } = selfSigned(t);
  const server = await startSlowServer(t, { type: 'https', tls_certificate_path: certPath, tls_key_path: keyPath });
  for (const [what, request] of Object.entries(requests)) {
    await Promise.all(momentsOf(stepMs).map((afterMs) => overHttp2(server, cert, request, `f${afterMs}-${users}`, afterMs)));
    await assertNothingIsLeft(server, what);
  }
  assert.equal((await server.eventIds()).includes(40003), false, 'no internal error');
}

function momentsOf(stepMs: number): number[] {
  return Array.from({ length: lastMs / stepMs }, (_, index) => index * stepMs);
}
