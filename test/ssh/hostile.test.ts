import assert from 'node:assert/strict';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Extents } from '../../src/files/operations/random-content.ts';
import { openFlags, packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import { protocolOf } from '../support/raw-channel.ts';
import { testPassword } from '../support/secrets.ts';
import { testSession } from '../support/sftp-session.ts';
import { startSsh, tryLogins } from '../support/ssh.ts';

const { read, write, create } = openFlags;
const alice = { type: 'password', username: 'alice', password: testPassword };
const mebibyte = 1024 * 1024;

function copyData(client: ReturnType<typeof testSession>['client'], from: Buffer, to: Buffer, toOffset: number): Promise<number> {
  return client.status(packetTypes.extended, (fields) =>
    fields.text('copy-data').bytes(from).uint64(0).uint64(0).bytes(to).uint64(toOffset),
  );
}

test('a file that is copied to its own end with two handles becomes twice as long, not endless', async (t) => {
  const { client, home } = testSession(t);
  writeFileSync(join(home, 'f'), Buffer.alloc(3 * mebibyte, 'x'));
  const one = await client.open('f', read | write);
  const two = await client.open('f', read | write);
  assert.equal(await copyData(client, one, two, 3 * mebibyte), 0);
  assert.equal(await client.close(one), 0);
  assert.equal(await client.close(two), 0);
  assert.deepEqual(readFileSync(join(home, 'f')), Buffer.alloc(6 * mebibyte, 'x'));
});

test('CLOSE of a handle waits for a copy from or to its file, because the descriptor number can soon belong to another file', async (t) => {
  const { client, home } = testSession(t);
  writeFileSync(join(home, 'source'), Buffer.alloc(64 * mebibyte, 'x'));
  writeFileSync(join(home, 'other'), Buffer.alloc(64 * mebibyte, 'y'));
  for (const closesTarget of [false, true]) {
    const source = await client.open('source', read);
    const target = await client.open(`target-${closesTarget}`, write | create);
    const copied = copyData(client, source, target, 0);
    // When this STAT is answered, the copy has begun, because its first part was requested before the STAT.
    await client.stat('other');
    const closed = client.close(closesTarget ? target : source);
    // New files get the descriptor numbers of closed ones.
    const others = await Promise.all(Array.from({ length: 8 }, () => client.open('other', read)));
    assert.equal(await closed, 0);
    assert.equal(await copied, 0);
    await Promise.all(others.map((other) => client.close(other)));
    await client.close(closesTarget ? source : target);
    assert.ok(
      readFileSync(join(home, `target-${closesTarget}`)).equals(readFileSync(join(home, 'source'))),
      'the copy has the content of the source',
    );
  }
});

test('hashing an endless file is abandoned when the connection is lost', async (t) => {
  const { client, home, lose, served } = testSession(t);
  writeFileSync(join(home, 'f'), '');
  truncateSync(join(home, 'f'), 2 ** 42);
  const handle = await client.open('f', read);
  for (let count = 0; count < 10; count++)
    void client.ask(packetTypes.extended, (fields) => fields.text('check-file').bytes(handle).text('sha256').uint64(0).uint64(0).uint32(0));
  await client.stat('.');
  lose();
  await served;
});

test('only a limited number of the parts of an upload with gaps is remembered', () => {
  const extents = new Extents();
  for (let at = 0; at < 10; at++) extents.add(at * 2, at * 2 + 1);
  extents.forgetLast(3);
  assert.equal(extents.count, 3);
  assert.deepEqual(extents.gaps(0, 6), [
    { start: 1, end: 2 },
    { start: 3, end: 4 },
    { start: 5, end: 6 },
  ]);
});

test('a channel without room for packets is refused, and the service continues', async (t) => {
  const server = await startSsh(t);
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  const failed = new Promise((resolve) => {
    const { _handlers: handlers } = protocolOf(client);
    handlers.CHANNEL_OPEN_FAILURE = resolve;
    handlers.CHANNEL_OPEN_CONFIRMATION = () => {
      protocolOf(client).exec(0, 'ls', true);
    };
  });
  protocolOf(client).session(0, 2 ** 31, 0);
  await failed;
  assert.ok((await tryLogins(t, server.sshPort, [alice])).client);
});

test('a client that leaves during its login frees its slot of the account', async (t) => {
  const answers: (() => void)[] = [];
  const callout = await calloutEndpoint(t, (response) => {
    answers.push(() => response.writeHead(200).end('{}'));
  });
  const server = await startSsh(t, { maximum_sessions_per_account: 1 }, { authentications: { id: { type: 'http', url: callout.url } } });
  const ask = async () => {
    const before = answers.length;
    const socket = connect(server.sshPort, '127.0.0.1');
    const login = tryLogins(t, server.sshPort, [{ type: 'password', username: 'carol', password: 'secret' }], { sock: socket });
    while (answers.length === before) await sleep(20);
    return { socket, login };
  };
  const first = await ask();
  first.socket.destroy();
  await first.login;
  while ((await server.events()).every(({ id }) => id !== '30015')) await sleep(20);
  answers.at(-1)?.();
  while ((await server.events()).every(({ id }) => id !== '20137')) await sleep(20);
  const second = await ask();
  answers.at(-1)?.();
  assert.ok((await second.login).client);
});

test('a second command on a channel is refused, and is not an internal error', async (t) => {
  const server = await startSsh(t);
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  const { _handlers: handlers } = protocolOf(client);
  const opened = new Promise<{ sender: number }>((resolve) => {
    handlers.CHANNEL_OPEN_CONFIRMATION = (_protocol, info) => resolve(info as { sender: number });
  });
  protocolOf(client).session(0, 2 ** 20, 2 ** 15);
  const { sender } = await opened;
  // All commands are sent in one turn, so that the second command arrives before the reply to the first.
  for (let count = 0; count < 3; count++) protocolOf(client).exec(sender, 'ls', false);
  assert.ok((await tryLogins(t, server.sshPort, [alice])).client);
  assert.deepEqual(
    (await server.events()).filter(({ id }) => id === '40003'),
    [],
  );
  client?.end();
});
