import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFlags, packetTypes } from '../../../src/ssh/sftp/packets/packets.ts';
import { until } from '../../support/receiver.ts';
import { loginSftp } from '../../support/sftp-client.ts';
import { testFiles, testSession } from '../../support/sftp-session.ts';
import { startSsh } from '../../support/ssh.ts';

const { write, create, truncate } = openFlags;
const content = Buffer.alloc(200_000, 'new ');

test('if the connection ends near a CLOSE, the file is the old or the new one, as its only event says', async (t) => {
  const shared = testFiles(t);
  const { home, events } = shared;
  const outcomes = new Set<number>();
  const path = join(home, 'f');
  for (let round = 0; round < 60; round++) {
    writeFileSync(path, 'old');
    events.length = 0;
    const { client, lose, served } = testSession(t, {}, {}, shared);
    const handle = await client.open('f', write | create | (round % 2 === 0 ? truncate : 0));
    // Each round loses the connection at another moment, from before the request is read until after its reply.
    const asked = client.write(handle, 0, content).then(() => client.ask(packetTypes.close, (fields) => fields.bytes(handle)));
    for (let turn = 0; turn < round % 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    if (round % 20 === 19) await asked;
    lose();
    await served;
    const ends = events.map(({ id }) => id).filter((id) => id !== 30043);
    assert.deepEqual(readdirSync(home), ['f'], `round ${round}`);
    assert.equal(ends.length, 1, `round ${round}: ${ends}`);
    const [end = 0] = ends;
    assert.ok(readFileSync(path).equals(end === 30068 ? content : Buffer.from('old')), `round ${round}: ${end}`);
    outcomes.add(end);
  }
  assert.deepEqual([...outcomes].sort(), [30042, 30068], 'both outcomes occurred');
});

test('if many real connections end near a CLOSE, each file is the old or the new one, as its event says', async (t) => {
  const server = await startSsh(t, { maximum_unauthenticated_connections_per_address: 100 });
  const names = Array.from({ length: 12 }, (_, index) => `f${index}`);
  for (const name of names) writeFileSync(join(server.home, name), 'old');
  await Promise.all(
    names.map(async (name, index) => {
      const { sftp, client } = await loginSftp(t, server.sshPort);
      const handle = await sftp.open(name, write | create | truncate);
      void sftp.write(handle, 0, content);
      const asked = sftp.ask(packetTypes.close, (fields) => fields.bytes(handle));
      await Promise.race([asked, sleep(index)]);
      (client as unknown as { _sock: { destroy(): void } })._sock.destroy();
    }),
  );
  const ends = async () => (await server.events()).filter(({ id }) => id === '30042' || id === '30068');
  await until('all uploads have ended', async () => (await ends()).length === names.length);
  for (const { id, data } of await ends()) {
    const found = readFileSync(join(server.home, String(data.path)));
    assert.ok(found.equals(id === '30068' ? content : Buffer.from('old')), `${data.path}: ${id}`);
  }
  assert.deepEqual(readdirSync(server.home).sort(), names.sort());
});
