import assert from 'node:assert/strict';
import { readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { HandleShares } from '../../src/files/handle-shares.ts';
import { openFlags, packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import { openRawChannel, protocolOf } from '../support/raw-channel.ts';
import { testPassword } from '../support/secrets.ts';
import { testFiles, testSession } from '../support/sftp-session.ts';
import { startSsh, tryLogins } from '../support/ssh.ts';

const { read, write, create } = openFlags;
const alice = { type: 'password', username: 'alice', password: testPassword };

test('a channel that is closed with unread replies releases its files at once, while the connection continues', async (t) => {
  const server = await startSsh(t);
  writeFileSync(join(server.home, 'large'), '');
  truncateSync(join(server.home, 'large'), 2 ** 32);
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  const channel = await openRawChannel(client, 77, 4096);
  channel.send(packetTypes.open, (fields) =>
    fields
      .text('/upload')
      .uint32(write | create)
      .uint32(0),
  );
  channel.send(packetTypes.open, (fields) => fields.text('/large').uint32(read).uint32(0));
  const handles = [await channel.reply(), await channel.reply()].map((reply) => (reply.kind === 'handle' ? reply.handle : undefined));
  for (let count = 0; count < 100; count++)
    channel.send(packetTypes.read, (fields) =>
      fields
        .bytes(handles[1] as Buffer)
        .uint64(count * 2 ** 18)
        .uint32(2 ** 18),
    );
  await sleep(200);
  channel.close();
  while (!(await server.eventIds()).includes(30012)) await sleep(20);
  const ids = await server.eventIds();
  assert.ok(ids.includes(30042) && ids.includes(30041), 'the upload and the download were lost');
  assert.ok(!ids.includes(30015), 'the connection continues');
  assert.deepEqual(readdirSync(server.home), ['large']);
});

test('a client that repeats key exchanges endlessly is disconnected', async (t) => {
  const server = await startSsh(t);
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  let exchanges = 0;
  const ended = new Promise((resolve) => client?.on('close', () => resolve(undefined)));
  client?.on('handshake', () => {
    if (++exchanges < 500) setImmediate(() => protocolOf(client).rekey());
    else client.end();
  });
  protocolOf(client).rekey();
  await ended;
  assert.ok(exchanges < 100, `${exchanges} exchanges`);
  while (!(await server.eventIds()).includes(30015)) await sleep(20);
  const [closed] = (await server.events()).filter(({ id }) => id === '30015');
  assert.match(String(closed?.data.details), /exchanged keys too often/);
});

test('the number of replies that wait for the end of a key exchange is limited', async (t) => {
  const server = await startSsh(t, { rekey_bytes: 1_048_576 });
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  const protocol = protocolOf(client);
  // From now on the client ignores all packets of the server, including the one that begins a key exchange.
  protocol._decipher._onPayload = () => {};
  let isClosed = false;
  client?.on('close', () => (isClosed = true));
  let sent = 0;
  for (; sent < 200_000 && !isClosed; sent++) {
    protocol.tcpipForward('x'.repeat(100), 1, true);
    if (sent % 1000 === 0) await sleep(20);
  }
  assert.ok(isClosed, 'the connection ended');
  const [closed] = (await server.events()).filter(({ id }) => id === '30015');
  assert.match(String(closed?.data.details), /while keys were exchanged/);
});

test('one account cannot take all open files of the limit: it never has more open than are left for other accounts', () => {
  const shares = new HandleShares(8);
  const taken = (account: string) => {
    const places = [];
    for (let place = shares.take(account); place; place = shares.take(account)) places.push(place);
    return places;
  };
  const first = taken('alice');
  assert.equal(first.length, 4);
  const second = taken('bob');
  assert.equal(second.length, 2);
  assert.equal(taken('carol').length, 1);
  first[0]?.();
  first[0]?.();
  assert.equal(shares.take('alice'), undefined, 'alice has three files, and only two are free');
  for (const free of [...first.slice(1), ...second]) free();
  assert.equal(taken('dave').length, 4);
});

test('open files count for all sessions of an account, until they are closed', async (t) => {
  const shared = testFiles(t);
  writeFileSync(join(shared.home, 'f'), 'x');
  const handles = new HandleShares(4);
  const [one, two] = [testSession(t, {}, {}, shared, handles), testSession(t, {}, {}, shared, handles)];
  const first = await one.client.open('f', read);
  await two.client.opendir('/');
  const refused = await one.client.ask(packetTypes.open, (fields) => fields.text('f').uint32(read).uint32(0));
  assert.ok(refused.kind === 'status' && refused.code === 4);
  assert.match(refused.message, /Too many files and folders of the account are open/);
  assert.equal(await one.client.close(first), 0);
  await one.client.open('f', write);
  two.lose();
  await two.served;
  // A failed OPEN takes no slot.
  for (let tries = 0; tries < 5; tries++) await assert.rejects(one.client.open('missing', read));
  await one.client.open('f', read);
});

test('malformed requests do not fill the journal', async (t) => {
  const { client, events } = testSession(t);
  const malformed = () => client.status(packetTypes.open, (fields) => fields.uint32(2 ** 31));
  assert.equal(await malformed(), 5);
  for (let count = 0; count < 1000; count++) assert.equal(await malformed(), 5);
  const told = events.filter(({ id }) => id === 30016);
  assert.ok(told.length < 500, `${told.length} events`);
  assert.match(String(told[0]?.data.details), /./);
});

test('a reply that cannot be sent ends its channel, not the process', async (t) => {
  const { client, channel, served } = testSession(t);
  await client.stat('/');
  channel.write = () => {
    throw new Error('the transport is gone');
  };
  void client.stat('/');
  await served;
});
