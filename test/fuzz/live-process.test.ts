import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import fc from 'fast-check';
import { damaged, fuzz } from '../support/fuzz.ts';
import { assertWhole, type Live, startLive } from '../support/live-process.ts';
import { hasProgram } from '../support/requires.ts';
import { testBasic } from '../support/secrets.ts';

/** Times that a client waits for the first byte of a reply, and for further bytes, before it leaves. */
const firstByteMs = 1500;
const patienceMs = 150;

const connectionsAtOnce = 50;

const methods = [
  'GET',
  'HEAD',
  'PUT',
  'POST',
  'DELETE',
  'OPTIONS',
  'PROPFIND',
  'LOCK',
  'MOVE',
  'CONNECT',
  'TRACE',
  'PRI',
  'M-SEARCH',
  'get',
  'X',
];
const targets = [
  '/',
  '/home/',
  '/home/a',
  '/home/%2e%2e/',
  '/__svc__/login',
  '/__svc__/x',
  '*',
  '/health',
  'http://x/home/',
  'x:80',
  '//',
  '/home/?x',
];
const versions = [
  'HTTP/0.9',
  'HTTP/1.0',
  'HTTP/1.1',
  'HTTP/1.2',
  'HTTP/2',
  'HTTP/2.0',
  'HTTP/3.0',
  'HTTP/9.9',
  'http/1.1',
  'HTTP/1',
  'ICE/1.0',
  'RTSP/1.0',
];
const headers = [
  'Host: x',
  'Host: x:65535',
  'Host: [::1]',
  'Host:',
  `Authorization: ${testBasic}`,
  'Authorization: session x',
  'Connection: close',
  'Connection: Upgrade, HTTP2-Settings',
  'Upgrade: h2c',
  'Upgrade: websocket',
  'HTTP2-Settings: AAMAAABkAAQAAP__',
  'Content-Length: 5',
  'Content-Length: 0',
  'Transfer-Encoding: chunked',
  'Expect: 100-continue',
  'Expect: x',
  'Accept: text/html',
  'Accept: application/json',
  'Accept-Encoding: gzip',
  'Accept-Language: de',
  'Cookie: SVC_HTTP_SESSION=x',
  'Origin: null',
  'Referer: x',
  'Content-Type: multipart/form-data; boundary=b',
  'Content-Type: application/json',
  'Depth: infinity',
  'Destination: /home/b',
  'If: (<x>)',
  'If-Match: *',
  'Range: bytes=0-',
  'Want-Repr-Digest: sha-256=1',
  'X-Request-Id: \u00e4',
  'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'X-Forwarded-For: 1.2.3.4',
  'Keep-Alive: timeout=0',
  'Trailer: Host',
];

const head = fc
  .record({
    method: fc.constantFrom(...methods),
    target: fc.oneof(fc.constantFrom(...targets), damaged(targets)),
    version: fc.oneof(
      { weight: 3, arbitrary: fc.constant('HTTP/1.1') },
      { weight: 3, arbitrary: fc.constantFrom(...versions) },
      { weight: 1, arbitrary: damaged(versions) },
    ),
    lines: fc.array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...headers) }, { weight: 1, arbitrary: damaged(headers) }), {
      maxLength: 6,
    }),
    // Without a Host header, only the refusal of such requests would be tested.
    host: fc.constantFrom(['Host: x'], ['Host: x'], ['Host: x'], []),
    body: fc.constantFrom('', 'hello', '5\r\nhello\r\n0\r\n\r\n', '{}', '--b\r\n\r\n'),
  })
  .map(
    ({ method, target, version, host, lines, body }) =>
      `${[`${method} ${target} ${version}`, ...host, ...lines].join('\r\n')}\r\n\r\n${body}`,
  );

/** Sends bytes and reads until the other side ends or is silent. @returns the received data */
function sendRaw(socket: Socket, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk) => {
      socket.setTimeout(patienceMs);
      text += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    socket.setTimeout(firstByteMs, () => socket.destroy());
    socket.on('close', () => resolve(text));
    socket.write(bytes);
  });
}

async function fuzzHeads(t: TestContext, live: Live): Promise<void> {
  const { urls, cert, pids } = live;
  const before = pids();
  const seen = new Set<string>();
  const batch = fc.array(
    fc.record({
      heads: fc.array(head, { minLength: 1, maxLength: 3 }),
      to: fc.oneof(
        { weight: 4, arbitrary: fc.constant('plain' as const) },
        { weight: 2, arbitrary: fc.constant('tls' as const) },
        { weight: 1, arbitrary: fc.constant('monitor' as const) },
      ),
    }),
    { minLength: connectionsAtOnce, maxLength: connectionsAtOnce },
  );
  await fuzz(
    t,
    batch,
    async (cases) => {
      const replies = await Promise.all(
        cases.map(({ heads, to }) => {
          const port = Number(new URL(urls[to]).port);
          const socket =
            to === 'tls' ? connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: cert }) : connect(port, '127.0.0.1');
          return sendRaw(socket, Buffer.from(heads.join(''), 'utf8'));
        }),
      );
      for (const reply of replies) for (const [, status = ''] of reply.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)) seen.add(status);
      assert.deepEqual(pids(), before, live.running.stderr());
    },
    { share: 0.015, each: connectionsAtOnce },
  );
  assert.ok(seen.has('400') && seen.size >= 4, `the fuzz reached more than the parser: ${[...seen].sort()}`);
  assert.equal(seen.has('500'), false, live.running.stderr());
}

test('request lines, versions and headers of all kinds: the process survives', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const live = await startLive(t);
  const before = live.pids();
  const replies: string[] = [];
  for (const version of versions)
    replies.push(
      await sendRaw(connect(Number(new URL(live.urls.plain).port), '127.0.0.1'), Buffer.from(`GET / ${version}\r\nHost: x\r\n\r\n`)),
    );
  assert.match(replies[versions.indexOf('HTTP/1.1')] ?? '', /^HTTP\/1\.1 302 /);
  assert.match(replies[versions.indexOf('HTTP/2.0')] ?? '', /^HTTP\/1\.1 505 /);
  await assertWhole(live, before);
  await fuzzHeads(t, live);
  await assertWhole(live, before);
});

const fieldNames = [
  ':authority',
  ':scheme',
  'host',
  'expect',
  'content-length',
  'accept',
  'cookie',
  'authorization',
  'depth',
  'range',
  'x-request-id',
  'origin',
];

test('header sections of HTTP/2: the process survives', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const live = await startLive(t);
  const before = live.pids();
  const section = fc.record({
    method: fc.constantFrom(...methods),
    path: fc.oneof(fc.constantFrom(...targets), damaged(targets)),
    fields: fc.dictionary(
      fc.constantFrom(...fieldNames),
      fc.constantFrom('', 'x', '5', '0', 'a b', 'x/y', '[', '*', 'http://', '100-continue', 'text/html', `${testBasic}`),
      { maxKeys: 5 },
    ),
    body: fc.constantFrom(undefined, '', 'hello'),
    leaves: fc.boolean(),
  });
  const batch = fc.array(section, { minLength: connectionsAtOnce, maxLength: connectionsAtOnce });
  const seen = new Set<number>();
  await fuzz(
    t,
    batch,
    async (sections) => {
      const session = connectHttp2(live.urls.tls, { ca: live.cert });
      session.on('error', () => {});
      await Promise.all(
        sections.map(
          ({ method, path, fields, body, leaves }) =>
            new Promise<void>((resolve) => {
              try {
                const pseudo =
                  method === 'CONNECT' ? { ':authority': 'x:80', ':scheme': undefined, ':path': undefined } : { ':path': path };
                const stream = session.request({ ...fields, ':method': method, ...pseudo } as never, { endStream: body === undefined });
                stream.on('error', () => {});
                stream.on('close', resolve);
                stream.on('response', ({ ':status': status }) => seen.add(Number(status)));
                stream.resume();
                stream.setTimeout(firstByteMs, () => stream.destroy());
                if (body !== undefined) stream.end(body);
                if (leaves) setImmediate(() => stream.destroy());
              } catch {
                // The client library refuses to send this header section.
                resolve();
              }
            }),
        ),
      );
      session.destroy();
      assert.deepEqual(live.pids(), before, live.running.stderr());
    },
    { share: 0.015, each: connectionsAtOnce },
  );
  assert.ok(seen.has(400) && seen.has(401), `${[...seen]}`);
  assert.equal(seen.has(500), false, live.running.stderr());
  await assertWhole(live, before);
});
