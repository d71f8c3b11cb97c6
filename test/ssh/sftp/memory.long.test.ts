import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFlags, packetTypes } from '../../../src/ssh/sftp/packets/packets.ts';
import { start } from '../../support/child.ts';
import { openRawChannel } from '../../support/raw-channel.ts';
import { testPassword, testUser } from '../../support/secrets.ts';
import { loginSftp } from '../../support/sftp-client.ts';
import { tryLogins } from '../../support/ssh.ts';
import { temporaryFolder } from '../../support/temp.ts';

const largest = 2 ** 32 - 1;
const mebibyte = 1024 * 1024;
const pieceBytes = 255 * 1024;
const readsOfEach = 4000;

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

async function settledBytes(pid: number): Promise<number> {
  let before = 0;
  let now = residentBytes(pid);
  for (let calm = 0; calm < 8; calm = Math.abs(now - before) < mebibyte ? calm + 1 : 0) {
    await sleep(100);
    [before, now] = [now, residentBytes(pid)];
  }
  return now;
}

test('clients with the largest window that read slowly, or not at all, use little memory, and others are served', {
  skip: process.platform !== 'linux' && 'needs /proc',
}, async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'files'));
  const large = join(folder, 'files/large');
  writeFileSync(large, 'begin');
  truncateSync(large, 2 ** 31);
  const server = start(t, ['serve', '--port', '0', '--ssh', '0', '--user', testUser, '--log-level', 'error'], { cwd: folder });
  const [, port] = await server.line(/listening on sftp:\/\/[^:]+:(\d+)/);
  const pid = server.child.pid as number;
  // The last client reads in packets of the size that its library supports.
  const clients = await Promise.all(
    [largest, largest, largest, 32_768].map(async (packetBytes) => {
      const { client } = await tryLogins(t, Number(port), [{ type: 'password', username: 'alice', password: testPassword }]);
      const channel = await openRawChannel(client, 77, largest, packetBytes);
      channel.send(packetTypes.open, (fields) => fields.text('/large').uint32(openFlags.read).uint32(0));
      const opened = await channel.reply();
      assert.ok(opened.kind === 'handle');
      return { channel, handle: opened.handle, socket: (client as unknown as { _sock: NodeJS.ReadStream })._sock };
    }),
  );
  const before = await settledBytes(pid);
  for (const { channel, handle, socket } of clients) {
    socket.pause();
    for (let index = 0; index < readsOfEach; index++)
      channel.send(packetTypes.read, (fields) =>
        fields
          .bytes(handle)
          .uint64(index * pieceBytes)
          .uint32(pieceBytes),
      );
  }
  const grownBytes = (await settledBytes(pid)) - before;
  const askedBytes = clients.length * readsOfEach * pieceBytes;
  assert.ok(grownBytes < askedBytes / 30, `${Math.round(grownBytes / mebibyte)} MiB for ${Math.round(askedBytes / mebibyte)} MiB`);
  const { sftp } = await loginSftp(t, Number(port));
  await sftp.put('other', 'served');
  assert.deepEqual(await sftp.list('/'), ['large', 'other']);
  const reader = clients.at(-1);
  reader?.socket.resume();
  for (let index = 0; index < 200; index++) {
    const reply = await reader?.channel.reply();
    assert.ok(reply?.kind === 'data' && reply.data.length === pieceBytes, `reply ${index}`);
    if (index === 0) assert.equal(reply.data.toString('utf8', 0, 5), 'begin');
  }
  for (const { socket } of clients) socket.destroy();
});
