import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { askHeld } from '../../src/control/control-socket.ts';
import type { Client } from '../support/client.ts';
import { type HeldItem, hidden, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { startNode, startNodesOnRedis } from '../support/nodes.ts';
import { until } from '../support/receiver.ts';
import { ShiftedClock } from '../support/shifted-clock.ts';

const heldAt = async (node: Client) => (await node.send('GET', '/home/__svc__/held/')).json<{ held: HeldItem[] }>().held;

test('any node shows, releases, discards and withdraws held uploads; of two concurrent decisions one succeeds', async (t) => {
  const inspector = await startInspector(t);
  const inspections = { check: { type: 'http', url: inspector.url, test_at_start: false } };
  const begun = await startNodesOnRedis(t, 2, { inspections, group: { inspections: [['check']] } });
  if (!begun) return;
  const { folder, nodes } = begun;
  const [here, there] = nodes;
  assert.ok(here && there);
  const home = join(folder, 'home');
  const act = (node: string, action: 'release' | 'discard', id: string) => askHeld(join(folder, node), action, [id], 'op', undefined);
  const hold = async (name: string) => {
    assert.equal((await here.put(`/home/${name}`, 'odd')).status, 202);
    return (await heldAt(there)).find(({ path }) => path === `/${name}`)?.id ?? '';
  };
  const [first, second, third, fourth] = [await hold('first'), await hold('second'), await hold('third'), await hold('fourth')];
  assert.deepEqual(await act('n1', 'release', first), [{ id: first }]);
  assert.equal(readFileSync(join(home, 'first'), 'utf8'), 'odd');
  assert.deepEqual(await act('n1', 'discard', second), [{ id: second }]);
  assert.equal((await there.send('DELETE', `/home/__svc__/held/${third}`)).status, 204);
  const outcomes = (await Promise.all([act('n0', 'release', fourth), act('n1', 'discard', fourth)])).flat();
  assert.equal(outcomes.filter(({ error }) => error === undefined).length, 1, JSON.stringify(outcomes));
  assert.deepEqual(await heldAt(here), []);
  assert.deepEqual(hidden(home), []);
});

test('another node repeats the inspections of a node that seems dead; if that node continues, it changes no file', async (t) => {
  const inspector = await startInspector(t);
  const inspections = { check: { type: 'http', url: inspector.url, test_at_start: false, answer_within: 0.05, timeout: 100 } };
  const config = { inspections, group: { inspections: [['check']] } };
  const begun = await startNodesOnRedis(t, 1, config);
  if (!begun) return;
  const { folder, redis, nodes } = begun;
  const home = join(folder, 'home');
  for (const [path, content] of [
    ['a', 'wait, accepted'],
    ['b', 'wait, refused'],
  ])
    assert.equal((await nodes[0]?.put(`/home/${path}`, String(content)))?.status, 202);
  await until('both inspections are requested', () => inspector.requests.length === 2);
  inspector.decide = ({ body }) => ({ status: String(body).includes('accepted') ? 204 : 422 });
  const clock = new ShiftedClock();
  // The clock of the other node is so far ahead that the lease of the first node has expired by it.
  clock.shift(130_000);
  const other = await startNode(t, folder, 'other', redis.url, config, clock);
  await until('the other node has ended both held uploads', async () => (await heldAt(other)).length === 0);
  assert.deepEqual(visible(home), ['a']);
  assert.equal(inspector.requests.length, 4);
  // The first node now gets another verdict than the other node: both files are accepted.
  inspector.answerWaiting(204);
  await until('the first node shows no held uploads', async () => (await heldAt(nodes[0] as Client)).length === 0);
  await nodes[0]?.stop();
  assert.deepEqual(visible(home), ['a']);
  assert.deepEqual(hidden(home), []);
});
