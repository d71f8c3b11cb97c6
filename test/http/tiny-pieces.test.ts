import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';

/**
 * Sends the head of a request and `count` single bytes of a body, but never its end. Returns the data received until the connection ends.
 */
function sendSingleBytes(port: number, head: string, count: number): Promise<string> {
  return new Promise((resolve) => {
    let reply = '';
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`${head}\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(count)}`),
    );
    socket.setEncoding('latin1').on('data', (text) => {
      reply += text;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(reply));
  });
}

test('a small body in thousands of single bytes is refused before its end, even without a login', async (t) => {
  const server = await startServer(t);
  const head = 'POST /__svc__/login HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json';
  const reply = await sendSingleBytes(server.port, head, 20_000);
  assert.match(reply, /^HTTP\/1\.1 400 /);
  assert.match(reply, /too many small pieces/);
  const none = await sendSingleBytes(server.port, 'POST /home/ HTTP/1.1', 100_000);
  assert.match(none, /^HTTP\/1\.1 401 /, 'a body that is not read is refused, too');
});

test('a small body in fewer single bytes is accepted', async (t) => {
  const server = await startServer(t);
  const body = JSON.stringify({ username: 'alice', password: 'wrong' });
  const pieces = [...body].map((byte) => `1\r\n${byte}\r\n`).join('');
  const reply = await new Promise<string>((resolve) => {
    const socket = connect(server.port, '127.0.0.1');
    socket.setEncoding('latin1').on('data', resolve);
    socket.write(
      `POST /__svc__/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`,
    );
    t.after(() => socket.destroy());
  });
  assert.match(reply, /^HTTP\/1\.1 401 /);
});
