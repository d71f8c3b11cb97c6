import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../support/receiver.ts';
import { testBasic } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const basic = `Authorization: ${testBasic}`;
const statusOf = (reply: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(reply)?.[1] ?? 0);

test('no encoding of a path leaves the home folder', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.folder, 'outside.txt'), 'outside');
  const up = [
    '..',
    '%2e%2e',
    '%2E.',
    '.%2e',
    '..%2f..',
    '..%2F',
    '%2e%2e%2f',
    '..%5c',
    '..\\',
    '%252e%252e',
    '..;',
    '%c0%ae%c0%ae',
    '%e0%80%ae%e0%80%ae',
    '..%00',
    '%00',
    '..%ff',
    '..%c0%af',
    '．．',
  ];
  for (const part of up) {
    for (const target of [
      `/home/${part}/outside.txt`,
      `/home/x/${part}/${part}/outside.txt`,
      `/home/${part}outside.txt`,
      `//home/${part}/outside.txt`,
    ]) {
      const reply = await server.raw(`GET ${target} HTTP/1.1\r\nHost: x\r\n${basic}\r\nConnection: close\r\n\r\n`);
      assert.ok([400, 404].includes(statusOf(reply)), `${target}: ${statusOf(reply)}`);
      assert.equal(reply.includes('\r\n\r\noutside'), false, target);
    }
  }
  assert.equal(
    statusOf(await server.raw(`PUT /home/%2e%2e/x HTTP/1.1\r\nHost: x\r\n${basic}\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx`)),
    400,
  );
  assert.deepEqual(readdirSync(server.folder).sort(), ['data', 'home', 'outside.txt']);
});

test('invalid targets get 400, reserved names 403 and unknown paths 404; a double slash counts as one', async (t) => {
  const server = await startServer(t);
  const cases: [string, number][] = [
    ['/home/%', 400],
    ['/home/%zz', 400],
    ['/home/%4', 400],
    ['/home/%ff', 400],
    ['/home/%c3%28', 400],
    ['/home/%ed%a0%80', 400],
    ['/home/%f5%80%80%80', 400],
    ['/home/a%00b', 400],
    ['/home/.', 400],
    ['/home/./a', 400],
    ['/home/a#b', 400],
    ['/home/a%2fb', 400],
    [`/home/${'x'.repeat(256)}`, 400],
    ['http://elsewhere/home/missing', 400],
    ['http://x/home/missing', 404],
    ['/nothing', 404],
    ['/__svc__/nothing', 404],
    ['/home/__svc__', 403],
    ['/home/__svc__/', 403],
    ['/home/__svc__/x', 403],
    ['//home//missing', 404],
    ['/home//', 200],
    ['/', 302],
    ['/home', 302],
    ['*', 400],
    ['home/x', 400],
  ];
  for (const [target, status] of cases) {
    const reply = await server.raw(
      `GET ${target} HTTP/1.1\r\nHost: x\r\n${basic}\r\nAccept: application/json\r\nConnection: close\r\n\r\n`,
    );
    assert.equal(statusOf(reply), status, `${target}\n${reply}`);
  }
  assert.equal(statusOf(await server.raw('GET /home/ü HTTP/1.1\r\nHost: x\r\n\r\n')), 400, 'a target is ASCII (RFC 9112 §3.2)');
});

test('garbage on the wire is answered, and the server continues', async (t) => {
  const server = await startServer(t);
  const cases: [string, number][] = [
    ['\x16\x03\x01\x02\x00garbage\r\n\r\n', 400],
    ['GET /home/ HTTP/1.1\r\n\r\n', 400],
    ['GET /home/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    ['GET /home/ HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
    ['GET /home/ HTTP/9.9\r\nHost: x\r\n\r\n', 400],
    ['GET /home/ HTTP/2.0\r\nHost: x\r\n\r\n', 505],
    ['GET /home/ HTTP/0.9\r\nHost: x\r\n\r\n', 505],
    [`GET /home/ HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    [`GET /home/${'y'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['PUT /home/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello', 400],
    ['PUT /home/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['PUT /home/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400],
    [`PUT /home/a HTTP/1.1\r\nHost: x\r\n${basic}\r\nContent-Length: -1\r\n\r\n`, 400],
    ['GET /home/ HTTP/1.1\r\nHost: x\r\nX-A: a\nX-B: b\r\n\r\n', 400],
    [`PUT /home/a HTTP/1.1\r\nHost: x\r\n${basic}\r\nExpect: the-unexpected\r\nContent-Length: 1\r\n\r\n`, 417],
  ];
  for (const [bytes, status] of cases)
    assert.equal(statusOf(await server.raw(Buffer.from(bytes, 'latin1'))), status, JSON.stringify(bytes.slice(0, 90)));
  assert.deepEqual(await server.names('/home/'), []);
  assert.ok((await server.eventIds()).includes(40019));
  assert.equal((await server.eventIds()).includes(40003), false);
});

test('a request that is refused before it is parsed gets the body of errors and the usual headers', async (t) => {
  const server = await startServer(t);
  const cases: [string, number, string][] = [
    ['GET /home/ HTTP/1.1\r\n\r\n', 400, 'The Host header is missing.'],
    ['PUT /home/a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello', 400, 'The Host header is missing.'],
    ['OPTIONS * HTTP/1.1\r\nX: y\r\n\r\n', 400, 'The Host header is missing.'],
    ['GET /home/ HTTP/2.0\r\nHost: x\r\n\r\n', 505, 'HTTP/2.0 is not supported here.'],
    ['GET /home/ HTTP/2.0\r\n\r\n', 505, 'HTTP/2.0 is not supported here.'],
    ['GET /home/ HTTP/0.9\r\nHost: x\r\n\r\n', 505, 'HTTP/0.9 is not supported here.'],
    ['GET /home/ HTTP/3.0\r\nHost: x\r\n\r\n', 400, 'The request is not valid HTTP.'],
  ];
  for (const [bytes, status, message] of cases) {
    const reply = await server.raw(bytes);
    assert.equal(statusOf(reply), status, reply);
    assert.match(reply, /\r\nserver: svc/i, bytes);
    assert.match(reply, /\r\ncontent-length: [1-9]/i, bytes);
    assert.doesNotMatch(reply, /transfer-encoding/i);
    assert.deepEqual(JSON.parse(reply.split('\r\n\r\n')[1] ?? ''), { errors: [{ message }] });
  }
  assert.equal(statusOf(await server.raw('GET / HTTP/1.0\r\n\r\n')), 302, 'HTTP/1.0 needs no Host header');
  const events = (await server.events()).filter((event) => event.id === '40019');
  assert.equal(events.length, cases.length);
});

test('Expect: 100-continue: a refused request is answered before its body', async (t) => {
  const server = await startServer(t, { group: { file_write_size: 1000 } });
  const put = (headers: string) => server.raw(`PUT /home/a HTTP/1.1\r\nHost: x\r\n${headers}\r\nExpect: 100-continue\r\n\r\n`);
  const refused = await put(`${basic}\r\nContent-Length: 2000`);
  assert.match(refused, /^HTTP\/1\.1 413/);
  assert.match(refused.toLowerCase(), /connection: close/);
  assert.match(await put('Content-Length: 5'), /^HTTP\/1\.1 401/);
  assert.match(await put(`${basic}\r\nContent-Length: 5`), /^HTTP\/1\.1 100 Continue/);
});

test('an upload of 20 MiB, which is over the limit, gets 413', async (t) => {
  const server = await startServer(t, { group: { file_write_size: 1000 } });
  const reply = await server.put('/home/a', Buffer.alloc(20 * 1024 * 1024));
  assert.equal(reply.status, 413);
});

test('a client that disappears during an upload leaves the old file and no temporary file', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), 'old');
  for (const body of ['x'.repeat(1000), 'x'.repeat(3_000_000)]) {
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`PUT /home/a HTTP/1.1\r\nHost: x\r\n${basic}\r\nContent-Length: 9000000\r\n\r\n${body}`);
    await until('a temporary file is there', () => readdirSync(server.home).length === 2);
    assert.deepEqual(await server.names('/home/'), ['a'], 'the temporary file is not listed');
    const [temporary = ''] = readdirSync(server.home).filter((name) => name !== 'a');
    assert.equal((await server.get(`/home/${temporary}`)).status, 403, 'the temporary file cannot be addressed');
    assert.equal((await server.send('DELETE', `/home/${temporary}`)).status, 403);
    socket.destroy();
    await until('the temporary file is gone', () => readdirSync(server.home).length === 1);
    assert.deepEqual(readdirSync(server.home), ['a']);
    assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'old');
  }
  await until('both are reported', async () => (await server.eventIds()).filter((id) => id === 40022).length === 2);
  assert.deepEqual(
    (await server.eventIds()).filter((id) => [40018, 40022, 40017].includes(id)),
    [40018, 40022, 40018, 40022],
  );
});

test('a slow body is cut after the idle time, and other clients are served meanwhile', async (t) => {
  const server = await startServer(t, { service: { idle_connection_timeout: 3 } });
  const socket = connect(server.port, '127.0.0.1');
  socket.write(`PUT /home/slow HTTP/1.1\r\nHost: x\r\n${basic}\r\nContent-Length: 100\r\n\r\nx`);
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('error', () => {});
  socket.resume();
  assert.equal((await server.put('/home/fast', 'x')).status, 201);
  await closed;
  await until('nothing is left of the slow upload', () => readdirSync(server.home).join() === 'fast');
});

test('header injection through names and targets is not possible', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'a\r\nX-Evil: 1'));
  const reply = await server.get(`/home/${encodeURIComponent('a\r\nX-Evil: 1')}`);
  assert.equal(reply.status, 302);
  assert.equal(reply.headers['x-evil'], undefined);
  assert.equal(reply.headers.location, '/home/a%0D%0AX-Evil%3A%201/');
  writeFileSync(join(server.home, 'f\r\nX-Evil: 1'), 'x');
  const file = await server.get(`/home/${encodeURIComponent('f\r\nX-Evil: 1')}`);
  assert.equal(file.headers['x-evil'], undefined);
  assert.match(String(file.headers['content-disposition']), /filename\*=UTF-8''f%0D%0AX-Evil%3A%201$/);
});
