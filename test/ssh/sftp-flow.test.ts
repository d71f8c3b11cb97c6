import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags } from '../../src/ssh/sftp/packets/packets.ts';
import { testSession } from '../support/sftp-session.ts';

const { read, write, create, truncate } = openFlags;

test('requests that were sent before the end of the channel are answered', async (t) => {
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

test('files that are closed together are renamed together, so that they share syncs', { timeout: 60_000 }, async (t) => {
  const { client, environment, home } = testSession(t);
  const names = Array.from({ length: 20 }, (_, index) => `f${index}`);
  const { events } = environment;
  const emitDurable = events.emitDurable.bind(events);
  // No event gets into the journal before all events are waiting. So if each CLOSE waited for the previous one, the test would never end.
  let waiting = 0;
  let open = () => {};
  const allWait = new Promise<void>((resolve) => (open = resolve));
  events.emitDurable = async (draft) => {
    if (++waiting === names.length) open();
    await allWait;
    return emitDurable(draft);
  };
  const handles = await Promise.all(names.map((name) => client.open(name, write | create | truncate)));
  await Promise.all(handles.map((handle) => client.write(handle, 0, Buffer.from('x'))));
  const replies = await Promise.all(handles.map((handle) => client.close(handle)));
  assert.deepEqual(new Set(replies), new Set([0]));
  assert.deepEqual(readdirSync(home).sort(), names.sort());
});

test('replies to READs come in the order of the requests', async (t) => {
  const { client, home } = testSession(t);
  // The file is too large for a synchronous read, so the thread pool decides which part arrives first.
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

test('a hundred thousand READs with unread replies use little memory', async (t) => {
  const { client, channel, home } = testSession(t);
  writeFileSync(join(home, 'f'), Buffer.alloc(32 * 1024, 'x'));
  const handle = await client.open('f', read);
  client.stream.pause();
  for (let index = 0; index < 100_000; index++) void client.read(handle, 0, 32 * 1024);
  let maxHeld = 0;
  for (let held = -1; held !== channel.writableLength || held === 0; ) {
    held = channel.writableLength;
    maxHeld = Math.max(maxHeld, held);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.ok(maxHeld > 1024 * 1024 && maxHeld < 5 * 1024 * 1024, `${maxHeld} bytes are held`);
});
