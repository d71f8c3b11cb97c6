import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { countAnswers, protocolOf } from '../support/raw-channel.ts';
import { testPassword } from '../support/secrets.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { RawSftp } from '../support/sftp-session.ts';
import { startSsh, tryLogins } from '../support/ssh.ts';

const { read, write, create } = openFlags;
const alice = { type: 'password', username: 'alice', password: testPassword };
const largest = 2 ** 32 - 1;

test('thousands of channels and requests on them are answered within the limits, and other clients are served meanwhile', async (t) => {
  const server = await startSsh(t);
  const other = await loginSftp(t, server.sshPort);
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  const protocol = protocolOf(client);
  const answers = countAnswers(client);
  for (let id = 0; id < 2000; id++) protocol.session(id, largest, largest);
  const uploaded = other.sftp.put('meanwhile', 'content');
  await answers.settled();
  assert.deepEqual([answers.opened.length, answers.refused], [10, 1990]);
  await uploaded;
  assert.equal(readFileSync(join(server.home, 'meanwhile'), 'utf8'), 'content');
  const [first = 0, second = 0] = answers.opened;
  for (let count = 0; count < 300; count++) {
    protocol.pty(first, 24, 80, 0, 0, 'xterm', null, true);
    protocol.env(first, 'LANG', 'C', true);
    protocol.subsystem(first, 'netconf', true);
  }
  await answers.settled();
  assert.deepEqual([answers.granted, answers.denied], [0, 900]);
  // A channel can have one subsystem, command or shell (RFC 4254 §6.5); further requests for one are refused.
  for (let count = 0; count < 300; count++) {
    protocol.subsystem(first, 'sftp', true);
    protocol.exec(first, 'ls', true);
    protocol.shell(second, true);
  }
  await answers.settled();
  assert.deepEqual([answers.granted, answers.denied], [2, 900 + 898]);
  assert.equal(((await other.sftp.stat('meanwhile')) as { sizeBytes: number }).sizeBytes, 7);
  assert.deepEqual(
    (await server.events()).filter(({ id }) => id === '40003'),
    [],
  );
});

test('each of many unused channels is closed by both sides, and its slot is free again', async (t) => {
  const server = await startSsh(t, { maximum_channels: 2 });
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  const protocol = protocolOf(client);
  const answers = countAnswers(client);
  for (let id = 0; id < 100; id++) {
    protocol.session(id, largest, largest);
    await answers.settled();
    const [opened = 0] = answers.opened.splice(0);
    if (id % 2 === 0) protocol.channelEOF(opened);
    protocol.channelClose(opened);
  }
  await answers.settled();
  assert.equal(answers.refused, 0);
  assert.deepEqual(
    answers.closed,
    Array.from({ length: 100 }, (_, id) => id),
  );
  protocol.session(100, largest, largest);
  protocol.session(101, largest, largest);
  await answers.settled();
  const left = await tryLogins(t, server.sshPort, [alice]);
  protocolOf(left.client).session(0, largest, largest);
  left.client?.end();
  assert.ok((await tryLogins(t, server.sshPort, [alice])).client, 'a client that leaves unused channels behind ends no other connection');
  assert.equal(await server.stop(), true, 'unused channels do not keep the service from stopping');
});

test('SFTP on several channels of one connection: handles of one channel do not exist in another', async (t) => {
  const server = await startSsh(t);
  writeFileSync(join(server.home, 'secret'), 'of the first');
  const { sftp: first, client } = await loginSftp(t, server.sshPort);
  const open = () =>
    new Promise<RawSftp>((resolve, reject) =>
      client.subsys('sftp', (error: Error | undefined, channel: Duplex) => (error ? reject(error) : resolve(new RawSftp(channel)))),
    );
  const others = await Promise.all(Array.from({ length: 9 }, open));
  await assert.rejects(open(), 'the eleventh channel is refused');
  const reading = await first.open('secret', read);
  const writing = await first.open('upload', write | create);
  for (const other of others) {
    for (const handle of [reading, writing]) {
      await assert.rejects(other.read(handle, 0, 100), /not valid/);
      assert.equal(await other.write(handle, 0, 'foreign'), statusCodes.failure);
      assert.equal(await other.close(handle), statusCodes.failure);
      const extended = (name: string) => other.status(packetTypes.extended, (fields) => fields.text(name).bytes(handle));
      assert.deepEqual([await extended('fsync@openssh.com'), await extended('fstatvfs@openssh.com')], [4, 4]);
    }
    assert.equal(await other.stat('upload'), statusCodes.noSuchFile, 'uploads of one channel are invisible in another');
  }
  await Promise.all(others.map((other, index) => other.put(`by-${index}`, `content ${index}`)));
  assert.equal(await first.write(writing, 0, 'own'), 0);
  assert.equal(await first.close(writing), 0);
  assert.equal(String(await first.read(reading, 0, 100)), 'of the first');
  assert.equal(await first.close(reading), 0);
  assert.equal((await first.list('/')).length, 11);
});
