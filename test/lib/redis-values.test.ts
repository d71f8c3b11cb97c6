import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog, silentLog } from '../../src/lib/log.ts';
import { RedisValues } from '../../src/lib/redis/redis-values.ts';
import { DeliveryLeases } from '../../src/state/redis/delivery-leases.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { linkTo, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';

test('an unreadable value is skipped, reported once without its content, and counted', () => {
  const lines: string[] = [];
  const values = new RedisValues(createLog({ level: 'info', format: 'json', clock: new ManualClock(), write: (line) => lines.push(line) }));
  const shape = z.object({ name: z.string() });
  const read = (where: string, text: unknown) => values.read(where, text, (value) => shape.parse(value));
  assert.deepEqual(read('a', '{"name":"x","more":1}'), { name: 'x' });
  const unreadable = ['hunter2', '{"name":', '{"name":5}', 'null', '["hunter2"]', '['.repeat(100_000), undefined];
  for (let round = 0; round < 3; round++)
    for (const [index, text] of unreadable.entries()) assert.equal(read(`value ${index}`, text), undefined);
  assert.equal(values.unreadable, unreadable.length);
  assert.equal(lines.length, unreadable.length);
  assert.doesNotMatch(lines.join(''), /hunter2/);
});

test('a key with an unexpected type is renamed, and the command succeeds; unknown keys are left alone', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const link = await linkTo(t, redis.url);
  await redis.command('SET {svc}:locks text');
  await redis.command('SET {svc}:nodes text');
  await redis.command('SET {svc}:other text');
  await redis.command('SET locks text');
  assert.deepEqual(await link.call(['HGETALL', link.key('locks')]), []);
  const left = ((await link.call(['KEYS', '*'])) as string[]).filter((key) => /locks|nodes|other/.test(key)).sort();
  assert.deepEqual(left, ['locks', '{svc}:other', '{svc}:unreadable:locks', '{svc}:unreadable:nodes']);
  assert.equal(await link.call(['GET', '{svc}:unreadable:locks']), 'text');
  assert.ok(Number(await link.call(['PTTL', '{svc}:unreadable:locks'])) > 0);
  assert.equal(link.values.unreadable, 2);
  await assert.rejects(link.call(['HGETALL', '{svc}:other']), /refused a command/, 'not a key of svc');
});

test('several nodes that find a key of an unexpected type at the same moment all continue', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const links = await Promise.all(Array.from({ length: 8 }, () => linkTo(t, redis.url)));
  for (let round = 0; round < 5; round++) {
    await redis.command('SET {svc}:locks text');
    const replies = await Promise.all(links.map((link) => link.call(['HGETALL', link.key('locks')])));
    assert.deepEqual(replies, Array(links.length).fill([]));
  }
});

test('a lease without an expiry belongs to no node, and invalid counters start again', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const link = await linkTo(t, redis.url);
  const store = new DeliveryLeases(link, 'a.00000000', { retentionDays: 1, clock: systemClock, log: silentLog });
  await redis.command('SET {svc}:lease:crm somebody');
  await redis.command('SET {svc}:epoch:crm word');
  const lease = await store.acquire('crm', 0, 0);
  assert.ok(typeof lease === 'object');
  assert.equal(await store.confirm(lease, undefined), true);
  await redis.command('SET {svc}:lease:crm another PX 10000');
  assert.equal(await store.acquire('crm', 0, 0), 'held');
});
