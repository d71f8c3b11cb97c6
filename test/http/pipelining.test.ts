import assert from 'node:assert/strict';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBelow } from '../support/open-files.ts';
import { until } from '../support/receiver.ts';
import { testBasic } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const basic = `Authorization: ${testBasic}`;
const request = (line: string, headers = '') => `${line} HTTP/1.1\r\nHost: x\r\n${basic}\r\n${headers}\r\n`;

test('if nobody reads the first reply of a connection, the end of the connection closes the files of all its pipelined requests', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'large'), '');
  truncateSync(join(server.home, 'large'), 50_000_000);
  writeFileSync(join(server.home, 'small'), 'x');
  mkdirSync(join(server.home, 'd'));
  for (let index = 0; index < 600; index++) writeFileSync(join(server.home, 'd', `${index}`), '');
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(request('GET /home/large'));
  for (let index = 0; index < 5; index++) {
    socket.write(request('GET /home/small'));
    socket.write(request('PROPFIND /home/d/', 'Depth: 1\r\n'));
    socket.write(request('GET /home/d/', 'Accept: application/json\r\n'));
    socket.write(request('GET /home/d/', 'Accept: application/zip\r\n'));
  }
  await until('the first one is running', () => openBelow(server.home).length > 0);
  assert.equal((await server.eventIds()).filter((id) => id === 40004).length, 1, 'the later requests wait');
  socket.destroy();
  await until('all are closed', () => openBelow(server.home).length === 0);
});

test('more pipelined requests than a connection may have are refused, and the connection ends', async (t) => {
  const server = await startServer(t);
  await server.put('/home/a', 'x');
  const reply = await server.raw(request('GET /home/a').repeat(1000));
  const statuses = [...reply.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
  // The last replies may be lost when the connection ends.
  assert.ok(statuses.length > 0 && statuses.length < 500, `${statuses.length} of 1000 were answered`);
  assert.ok(statuses.every((status) => status === '200' || status === '503'));
  assert.equal((await server.get('/home/a')).status, 200);
});

test('a request for a protocol upgrade ends its connection, because data after it in the same packet would be lost', async (t) => {
  const server = await startServer(t);
  await server.put('/home/a', 'x');
  const upgrade = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';
  for (const first of [request('GET /home/a', upgrade), `${request('PUT /home/b', `${upgrade}Content-Length: 1\r\n`)}x`]) {
    const reply = await server.raw(first + request('GET /home/a'));
    assert.match(reply, /^HTTP\/1\.1 20[01] /);
    assert.match(reply, /\r\nconnection: close\r\n/i);
    assert.equal([...reply.matchAll(/HTTP\/1\.1 /g)].length, 1);
  }
});

test('after a reply that ends the connection, no pipelined request is executed without a reply', async (t) => {
  const server = await startServer(t);
  for (const first of [
    request('GET /home/', 'Connection: close\r\n'),
    request('GET /home/').replace('HTTP/1.1', 'HTTP/1.0'),
    `${request('PUT /home/a', 'Host: y\r\nTransfer-Encoding: chunked\r\n')}1\r\nx\r\n0\r\n\r\n`,
  ]) {
    const reply = await server.raw(first + request('PUT /home/behind/') + request('PUT /home/later/'));
    const statuses = [...reply.matchAll(/HTTP\/1\.1 (\d{3})/g)];
    assert.deepEqual(await server.names('/home/'), ['behind', 'later'].slice(0, statuses.length - 1), reply);
  }
});
