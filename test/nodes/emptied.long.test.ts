import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { DeliveryLeases, type Lease } from '../../src/state/redis/delivery-leases.ts';
import { startNodesOnRedis } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { linkTo, startProxy, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';

const storeOn = (link: Awaited<ReturnType<typeof linkTo>>, node: string) =>
  new DeliveryLeases(link, `${node}.00000000`, { retentionDays: 1, clock: systemClock, log: silentLog });

/** Requests a lease until Redis answers. */
async function asked(store: DeliveryLeases): Promise<Awaited<ReturnType<DeliveryLeases['acquire']>>> {
  let answer: Awaited<ReturnType<DeliveryLeases['acquire']>> | undefined;
  await until('Redis has replied', async () => {
    answer = await store.acquire('crm', 0, 0).catch(() => undefined);
    return answer !== undefined;
  });
  return answer as Awaited<ReturnType<DeliveryLeases['acquire']>>;
}

test('even after FLUSHALL, only one node at a time delivers for a handler', { timeout: 110_000 }, async (t) => {
  const delayMs = 200;
  const receiver = await startReceiver(t, { otherwise: { delayMs } });
  const begun = await startNodesOnRedis(t, 3, {
    event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url, batch_size: 1 } },
  });
  if (!begun) return;
  const { nodes, redis } = begun;
  let uploads = 0;
  const upload = async (count: number) => {
    for (let index = 0; index < count; index++) {
      const put = () => nodes[index % 3]?.put(`/home/${uploads}.txt`, 'x', { mayFail: true });
      await until('the upload is accepted', async () => (await put())?.status === 201);
      uploads++;
    }
  };
  await upload(20);
  await receiver.received(3);
  for (let round = 1; round <= 3; round++) {
    await redis.command('FLUSHALL');
    const isBack = ({ log }: (typeof nodes)[number]) => log.filter((line) => line.includes('Redis is back')).length >= round;
    await until('all nodes are back', () => nodes.every(isBack));
    await upload(10);
    const { length } = receiver.requests;
    await receiver.received(length + 10);
  }
  await until('all uploads are delivered', () => new Set(receiver.events().map(({ data }) => data.path)).size === uploads);
  const gapsMs = receiver.requests.slice(1).map(({ atMs }, index) => atMs - (receiver.requests[index]?.atMs ?? 0));
  assert.deepEqual(
    gapsMs.filter((gapMs) => gapMs < delayMs - 5),
    [],
    'no request begins before the reply to the previous one',
  );
});

test('after Redis was emptied, only the node that had a lease at that moment gets it back', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const [first, second] = await Promise.all([linkTo(t, redis.url), linkTo(t, redis.url)]);
  const owner = storeOn(first, 'a');
  const other = storeOn(second, 'b');
  const lease = (await owner.acquire('crm', 0, 0)) as Lease;
  for (let round = 0; round < 3; round++) {
    await redis.command('FLUSHALL');
    assert.equal(await asked(other), 'held');
    assert.equal(await owner.confirm(lease, undefined), true);
  }
  await owner.release(lease);
  const next = await asked(other);
  assert.ok(typeof next === 'object');
  assert.notEqual(next.token, lease.token);
  await redis.command('FLUSHALL');
  assert.equal(await asked(owner), 'held', 'a node that had released its lease before does not get it');
});

test('a node that was cut off while Redis was emptied asks for its lease before its next request, and is refused', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const proxy = await startProxy(t, redis.port);
  const [cut, near] = await Promise.all([linkTo(t, `redis://127.0.0.1:${proxy.port}`), linkTo(t, redis.url)]);
  const owner = storeOn(cut, 'a');
  const lease = (await owner.acquire('crm', 0, 0)) as Lease;
  proxy.cut();
  await redis.command('FLUSHALL');
  const next = await asked(storeOn(near, 'b'));
  assert.ok(typeof next === 'object', 'the former owner is cut off, so it cannot restore its lease');
  // A node trusts a confirmed lease for 1.5 s. In a server, no other node can get the lease in this time, because nodes wait 2 s after
  // Redis lost data. Here they wait only 700 ms, so the test makes the confirmation older.
  lease.validUntilMs -= 1500;
  let isAnswered = false;
  const answer = owner.confirm(lease, undefined).finally(() => (isAnswered = true));
  await until('the cut is noticed', () => !cut.isReady);
  assert.equal(isAnswered, false, 'the node waits while it cannot ask');
  proxy.mend();
  assert.equal(await answer, false);
  assert.equal(lease.isLost, true);
});
