import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags } from '../../src/ssh/sftp/packets/packets.ts';
import { testSession } from '../support/sftp-session.ts';

const { read } = openFlags;

test('what was asked for before the end of the channel is answered', async (t) => {
  const { client, home, served } = testSession(t);
  writeFileSync(join(home, 'f'), Buffer.alloc(300_000, 'x'));
  const handle = await client.open('f', read);
  const replies = Promise.all([
    ...Array.from({ length: 100 }, (_, index) => client.read(handle, index * 3000, 3000)),
    client.close(handle),
  ]);
  client.stream.end();
  assert.deepEqual(Buffer.concat((await replies).slice(0, -1) as Buffer[]), Buffer.alloc(300_000, 'x'));
  await served;
});

test('replies to READs come in the order of the requests', async (t) => {
  const { client, home } = testSession(t);
  // Too large to be read synchronously, so that the thread pool decides which part is there first.
  writeFileSync(join(home, 'f'), Buffer.alloc(8_000_000, 'x'));
  const handle = await client.open('f', read);
  for (let round = 0; round < 2; round++) {
    client.order.length = 0;
    const lengths = [200_000, 100, 260_000, 1];
    await Promise.all(
      Array.from({ length: 200 }, (_, index) => client.read(handle, (index * 7919) % 8_100_000, lengths[index % 4] as number)),
    );
    assert.deepEqual(
      client.order,
      client.order.toSorted((a, b) => a - b),
    );
  }
});

test('a hundred thousand READs that nobody reads the replies of hold few bytes', async (t) => {
  const { client, channel, home } = testSession(t);
  writeFileSync(join(home, 'f'), Buffer.alloc(32 * 1024, 'x'));
  const handle = await client.open('f', read);
  client.stream.pause();
  for (let index = 0; index < 100_000; index++) void client.read(handle, 0, 32 * 1024);
  let mostHeld = 0;
  for (let held = -1; held !== channel.writableLength || held === 0; ) {
    held = channel.writableLength;
    mostHeld = Math.max(mostHeld, held);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.ok(mostHeld > 1024 * 1024 && mostHeld < 5 * 1024 * 1024, `${mostHeld} bytes are held`);
});
