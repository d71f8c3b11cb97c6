import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { shapeWrites } from '../../src/ssh/connection/connection.ts';
import { until } from '../support/receiver.ts';

const reply = Buffer.alloc(1024);

test('the server stops reading from a client that reads no replies, until the client reads again', async (t) => {
  const server = createServer();
  t.after(() => server.close());
  let served: Socket | undefined;
  server.on('connection', (socket) => {
    served = socket;
    socket.on('error', () => {});
    t.after(() => socket.destroy());
    shapeWrites(socket);
    socket.on('data', (requests: Buffer) => {
      for (const _ of requests) socket.write(reply);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  t.after(() => client.destroy());
  client.on('error', () => {});
  client.write('?'.repeat(1_000_000));
  await until('the server stops reading', () => served?.isPaused() === true);
  for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
  const readBytes = served?.bytesRead as number;
  assert.ok(readBytes < 500_000, `${readBytes} bytes read`);
  client.resume();
  await until('the server reads again', () => (served?.bytesRead as number) > readBytes);
});
