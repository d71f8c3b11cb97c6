import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventIds } from '../../src/events/event-ids.ts';
import { untilWithinMinute } from '../support/node-process.ts';
import { startNode, startNodesOnRedis, type TestNode } from '../support/nodes.ts';

test('one of two nodes reports the files of both nodes, each once; when it ends, the other node continues', {
  timeout: 110_000,
}, async (t) => {
  const daily = { every: '1d', opens: '2d', account: 'alice' };
  const config = { expectations: { first: { ...daily, path: '/first' }, second: { ...daily, path: '/second' } } };
  const begun = await startNodesOnRedis(t, 1, config);
  if (!begun) return;
  const { redis, folder } = begun;
  const [teller] = begun.nodes as [TestNode];
  await untilWithinMinute('the first node is the reporting node', async () =>
    (await redis.command('EXISTS {svc}:expectations-teller')).includes('1'),
  );
  const other = await startNode(t, folder, 'n1', redis.url, config);
  const told = async () => {
    const text = await redis.command('XRANGE {svc}:journal - +');
    const events = text.split('\n').filter((line) => line.includes(`{"id":"${eventIds.expectationMet}"`));
    return events.map((line) => /"expectation":"(\w+)"/.exec(line)?.[1]);
  };
  assert.equal((await other.put('/home/first', 'x')).status, 201);
  await untilWithinMinute('the first file is reported', async () => (await told()).length > 0);
  await teller.stop();
  assert.equal((await other.put('/home/second', 'x')).status, 201);
  await untilWithinMinute('the second file is reported by the other node', async () => (await told()).length > 1);
  assert.deepEqual(await told(), ['first', 'second']);
});
