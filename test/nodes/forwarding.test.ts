import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startNodesOnRedis } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';

test('one of two nodes forwards all files in the order of the journal; when it ends, the other node continues', async (t) => {
  const receiver = await startReceiver(t);
  const out = { type: 'forward', url: `${new URL('/', receiver.url).href}{path}`, after: 'delete' };
  const begun = await startNodesOnRedis(t, 2, { event_handlers: { out } });
  if (!begun) return;
  const { nodes } = begun;
  const put = async (from: number, to: number, among: typeof nodes) => {
    for (let index = from; index < to; index++)
      assert.equal((await among[index % among.length]?.put(`/home/${index}.txt`, String(index)))?.status, 201);
  };
  await put(0, 10, nodes);
  await until('all files are sent', () => receiver.requests.length >= 10);
  const owner = nodes.find(({ log }) => log.some((line) => line.includes('taken over')));
  await owner?.stop();
  await put(
    10,
    16,
    nodes.filter((node) => node !== owner),
  );
  await until('the rest is sent', () => receiver.requests.length >= 16);
  assert.deepEqual(
    receiver.requests.map(({ url }) => url),
    Array.from({ length: 16 }, (_, index) => `/${index}.txt`),
  );
  const home = join(begun.folder, 'home');
  await until('all sent files are deleted', () => readdirSync(home).every((name) => !name.endsWith('.txt')));
});
