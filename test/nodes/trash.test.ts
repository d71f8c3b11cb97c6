import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startNode, startNodesOnRedis } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { trashOf } from '../support/trash.ts';

test('nodes share a trash; each expired item is removed by one of them, with one event', { timeout: 90_000 }, async (t) => {
  const receiver = await startReceiver(t);
  const config = {
    group: { trash: { days: 30 } },
    event_handlers: { handler: { type: 'http', target: '40102', url: receiver.url } },
  };
  const started = await startNodesOnRedis(t, 2, config);
  if (!started) return;
  const { folder, nodes, redis } = started;
  const names = Array.from({ length: 10 }, (_, index) => `f${index}`);
  for (const [index, name] of names.entries()) {
    const node = nodes[index % 2];
    assert.equal((await node?.put(`/home/${name}`, name))?.status, 201);
    assert.equal((await node?.send('DELETE', `/home/${name}`))?.status, 204);
  }
  for (const node of nodes) assert.equal((await trashOf(node)).length, names.length);
  const [item] = await trashOf(nodes[0] as (typeof nodes)[0]);
  assert.equal((await nodes[1]?.send('POST', `/home/__svc__/trash/${item?.id}/restore`))?.status, 201, 'the other node restores the item');
  await Promise.all(nodes.map((node) => node.stop()));

  const top = join(folder, 'home/.svc-trash');
  const trash = join(top, readdirSync(top)[0] ?? '');
  for (const name of readdirSync(trash).filter((entry) => entry.endsWith('.json'))) {
    const record = JSON.parse(readFileSync(join(trash, name), 'utf8'));
    writeFileSync(join(trash, name), JSON.stringify({ ...record, deletedMs: record.deletedMs - 31 * 86_400_000 }));
  }
  const [again] = await Promise.all(['n0', 'n1'].map((name) => startNode(t, folder, name, redis.url, config)));
  assert.ok(again);
  await until('the trash is empty', async () => readdirSync(trash).length === 0);
  assert.deepEqual(await trashOf(again), []);
  const ended = () => receiver.events().filter(({ id }) => id === '40102');
  await until('each removal is reported', () => ended().length >= names.length - 1);
  assert.deepEqual(
    ended()
      .map(({ data }) => [data.path, data.reason])
      .sort(),
    names.filter((name) => `/${name}` !== item?.path).map((name) => [`/${name}`, 'age']),
  );
});
