import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { test } from 'node:test';
import { connectRaw, requestFrame } from '../support/http2-raw.mjs';
import { assertWhole, startLive } from '../support/live-process.ts';
import { hasProgram } from '../support/requires.ts';
import { testBasic } from '../support/secrets.ts';

interface Reply {
  status: number;
  allow: string | undefined;
  text: string;
}

function ask(session: ClientHttp2Session, head: Record<string, string>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ authorization: testBasic, ...head });
    let [status, text] = [0, ''];
    let allow: string | undefined;
    stream.setEncoding('utf8');
    stream.on('response', (reply) => {
      status = Number(reply[':status']);
      allow = reply.allow;
    });
    stream.on('data', (chunk) => {
      text += chunk;
    });
    stream.on('end', () => resolve({ status, allow, text }));
    stream.on('error', (error) => reject(new Error(`${JSON.stringify(head)}: ${error.message}`, { cause: error })));
  });
}

test('every head that is possible only in HTTP/2 is answered without a 500, and the process survives', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const live = await startLive(t);
  const before = live.pids();
  const session = connectHttp2(live.urls.tls, { ca: live.cert });
  t.after(() => session.close());

  // Names of methods are case-sensitive (RFC 9110 §9.1), so these are unknown.
  for (const method of ['get', 'Get', 'head', 'put', 'delete', 'options', 'propfind', 'Propfind', 'lock', 'x', '__proto__']) {
    const { status, allow, text } = await ask(session, { ':method': method, ':path': '/home/a', accept: 'application/json' });
    assert.deepEqual([status, allow?.startsWith('OPTIONS, GET, HEAD, PUT, ')], [405, true], method);
    assert.deepEqual(JSON.parse(text), { errors: [{ message: `${method} is not supported here.` }] });
  }
  assert.equal((await ask(session, { ':method': 'get', ':path': '/__svc__/login' })).status, 405);
  assert.equal((await ask(session, { ':method': 'get', ':path': '/nothing' })).status, 404);

  for (const scheme of ['http', 'HTTPS', 'ftp', 'x', 'javascript']) {
    const { status, text } = await ask(session, { ':scheme': scheme, ':path': '/home/a' });
    assert.deepEqual([status, text], [200, 'hello, world'], scheme);
  }
  for (const authority of ['x', 'x:99999', '[', '[::1]:8443', "it's", 'a%41']) {
    const { status, text } = await ask(session, { ':authority': authority, ':path': '/home/a' });
    assert.deepEqual([status, text], [200, 'hello, world'], authority);
  }
  const { status, text } = await ask(session, { host: 'x', ':path': '/home/a' });
  assert.deepEqual([status, text], [200, 'hello, world'], 'a request with host, but without :authority, is answered');
  assert.equal((await ask(session, { ':method': 'OPTIONS', ':path': '*' })).status, 204);
  assert.equal((await ask(session, { ':path': '/home/%zz' })).status, 400);
  await assertWhole(live, before);
});

test('HTTP/2 without a host: the stream is reset, the connection continues, and the process survives', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const live = await startLive(t);
  const before = live.pids();
  const connection = connectRaw(live.urls.tls, live.cert);
  t.after(() => connection.socket.destroy());
  await connection.ready;
  const head: [string, string][] = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', '/home/a'],
  ];
  connection.socket.write(requestFrame(1, head));
  connection.socket.write(requestFrame(3, [...head, [':authority', 'x'], ['authorization', testBasic]]));
  while (connection.replies200 === 0 || connection.resets.length === 0) await once(connection.socket, 'data');
  assert.deepEqual(
    connection.resets.map(({ stream }) => stream),
    [1],
  );
  await assertWhole(live, before);
});
