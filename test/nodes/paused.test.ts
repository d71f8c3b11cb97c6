import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asOperator, asViewer, ConsoleClient, consoleService } from '../support/console.ts';
import { startNodesOnRedis, type TestNode } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';

const consoleOf = (node: TestNode | undefined) =>
  new ConsoleClient(node?.service.listening().find(({ uuid }) => uuid === 'console')?.url ?? '');
type Shown = { uuid: string; state: string; reason: string };

test('a handler can be paused, resumed and, after it stopped, started at any node, for all nodes', async (t) => {
  const receiver = await startReceiver(t, { script: [{}, {}, { status: 500 }, { status: 500 }] });
  const begun = await startNodesOnRedis(t, 2, {
    services: { web: { type: 'http', port: 0 }, console: await consoleService() },
    event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url, fail_after_errors: 1 } },
  });
  if (!begun) return;
  const { nodes } = begun;
  const consoles = nodes.map(consoleOf);
  const state = async (index: number) =>
    (await consoles[index]?.get('/api/handlers', asViewer))?.json<{ handlers: Shown[] }>().handlers[0] as Shown;
  const act = async (index: number, action: string) =>
    assert.equal((await consoles[index]?.post(`/api/handlers/crm/${action}`, {}, asOperator))?.status, 204);
  await nodes[0]?.put('/home/1.txt', 'x');
  await receiver.received(1);
  await act(0, 'pause');
  for (const index of [0, 1]) assert.deepEqual([(await state(index)).state, (await state(index)).reason], ['paused', 'paused by olga']);
  await until('the lease is free', async () => (await begun.redis.command('GET {svc}:lease:crm')).startsWith('$-1'));
  for (const node of nodes) await node.put(`/home/${nodes.indexOf(node) + 2}.txt`, 'x');
  assert.equal(receiver.requests.length, 1);
  await act(1, 'resume');
  await until('the handler stops', async () => (await state(0)).reason === '1 delivery failed in a row');
  await receiver.received(3);
  assert.equal(receiver.requests.length, 3);
  await until('the other node shows the stop, too', async () => (await state(1)).reason === '1 delivery failed in a row');
  await act(0, 'start');
  await nodes[1]?.put('/home/4.txt', 'x');
  await receiver.received(4);
  // The delivering node is the first to know that the handler has stopped again. The test starts the handler at this node immediately.
  const stopped = (index: number) =>
    until('the handler stops again', async () => (await state(index)).reason === '1 delivery failed in a row');
  const owner = await Promise.race([0, 1].map((index) => stopped(index).then(() => index)));
  await act(owner, 'start');
  await nodes[1]?.put('/home/5.txt', 'x');
  await receiver.received(5);
  assert.deepEqual(
    receiver.events().map(({ data }) => data.path),
    ['/1.txt', '/2.txt', '/3.txt', '/4.txt', '/5.txt'],
  );
});
