import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { protocolOf } from '../support/raw-channel.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { startSsh, tryLogins } from '../support/ssh.ts';

const alice = { type: 'password', username: 'alice', password: testPassword };

/** A connection that sends only the first `maxBytes`, and a record of what it sent. */
function shortSocket(port: number, maxBytes: number) {
  const socket = connect(port, '127.0.0.1');
  const write = socket.write.bind(socket) as (data: Buffer) => boolean;
  const sent = { bytes: 0 };
  socket.write = ((data: Buffer) => {
    const part = data.subarray(0, Math.max(0, maxBytes - sent.bytes));
    sent.bytes += part.length;
    return part.length === 0 || write(part);
  }) as typeof socket.write;
  return { socket, sent };
}

test('a client that stops at any point of the first key exchange or login is disconnected', async (t) => {
  const server = await startSsh(t, { login_grace_time: 1, maximum_unauthenticated_connections_per_address: 100 });
  const whole = shortSocket(server.sshPort, Number.POSITIVE_INFINITY);
  assert.ok((await tryLogins(t, server.sshPort, [alice], { sock: whole.socket })).client);
  const stops = Array.from({ length: 16 }, (_, index) => Math.floor((whole.sent.bytes * (index + 0.5)) / 16));
  await Promise.all(
    stops.map(async (bytes) => {
      const { client } = await tryLogins(t, server.sshPort, [alice], { sock: shortSocket(server.sshPort, bytes).socket });
      assert.equal(client, undefined, `after ${bytes} bytes`);
    }),
  );
  const ended = async () => (await server.events()).filter(({ id }) => id === '30015').map(({ data }) => data.details);
  // Clients that stop during the identification have no events.
  await until('the ends of the clients are reported', async () => (await ended()).length >= stops.length - 1);
  assert.deepEqual(new Set(await ended()), new Set(['The client did not log in within the time limit.']));
  assert.ok((await tryLogins(t, server.sshPort, [alice])).client, 'others are served');
});

test('a client that stops in the middle of a later key exchange is disconnected', async (t) => {
  const server = await startSsh(t, { login_grace_time: 1 });
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  const ended = new Promise((resolve) => client?.on('close', () => resolve(undefined)));
  const protocol = protocolOf(client);
  protocol.rekey();
  // The client ignores the answer.
  protocol._decipher._onPayload = () => {};
  await ended;
  const reasons = (await server.events()).filter(({ id }) => id === '30015').map(({ data }) => data.details);
  assert.deepEqual(reasons, ['The client did not finish an exchange of keys.']);
});
