import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../src/lib/clock.ts';
import { ClientConnector, type RedisClient } from '../../src/lib/redis/redis-connector.ts';
import { parseRedisUrl } from '../../src/lib/redis/redis-url.ts';
import { ForwardedNode, type Mishap } from '../support/forwarded-node.ts';
import { startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

/** For long runs: SVC_FORWARDER_RUNS=2000 SVC_TEST_TIMEOUT_MS=3600000 node scripts/test.mjs events/event-log-redis-forwarder */
const runs = Number(process.env.SVC_FORWARDER_RUNS ?? 60);

async function connect(t: TestContext): Promise<RedisClient | undefined> {
  if (!hasProgram(t, 'redis-server')) return undefined;
  const { url } = await startRedis(t, ['--appendonly', 'no']);
  const address = parseRedisUrl(url);
  const connector = new ClientConnector(address, { caPem: undefined, sentinel: undefined, clock: systemClock });
  const client = await connector.open(address.hosts[0] as { host: string; port: number }, 'data', () => {});
  t.after(() => client.destroy());
  return client;
}

async function startNode(t: TestContext, client: RedisClient): Promise<ForwardedNode> {
  await client.send(['FLUSHALL']);
  const node = new ForwardedNode(client, temporaryFolder(t));
  await node.start();
  return node;
}

const append = (count: number): Mishap => ({ kind: 'append', count });
const pass = (seconds: number): Mishap => ({ kind: 'pass', seconds });
const cut = (after = 0, isDone = true): Mishap => ({ kind: 'cut', isDone, after });

const histories: Record<string, Mishap[]> = {
  'two connections that broke a minute apart': [append(150), pass(2), append(1), cut(), pass(65), append(1), cut(), pass(2)],
  'a break while events that were sent are checked again': [
    append(50),
    pass(65),
    append(50),
    pass(5),
    append(1),
    cut(),
    pass(1),
    cut(1),
    pass(65),
    append(1),
    cut(),
  ],
  'a Redis that was emptied between two events of one upload': [
    append(9),
    pass(2),
    append(1),
    pass(1),
    { kind: 'empty', isMarked: false },
    append(1),
  ],
  'a Redis that was emptied, which another node noticed first': [
    append(9),
    pass(2),
    { kind: 'empty', isMarked: true },
    append(3),
    cut(0, false),
  ],
  'a process that was killed before it sent anything': [append(5), { kind: 'restart' }, append(5)],
  'a process that was killed a moment after it had sent': [
    append(5),
    pass(1),
    { kind: 'restart' },
    append(5),
    pass(1),
    { kind: 'restart' },
  ],
  'a Redis that was emptied while the node was down': [
    append(5),
    pass(70),
    { kind: 'empty', isMarked: true },
    { kind: 'restart' },
    append(1),
  ],
  'a killed Redis': [append(5), pass(70), append(5), pass(1), append(5), pass(0.5), { kind: 'kill' }, append(5)],
};

for (const [name, history] of Object.entries(histories))
  test(`each event gets into the stream once and in order: ${name}`, async (t) => {
    const client = await connect(t);
    if (!client) return;
    const node = await startNode(t, client);
    for (const mishap of history) await node.suffer(mishap);
    await node.check();
    await node.checkEmptied();
    await node.end();
  });

test('after any faults of node, connection and Redis, each event arrives in order, and is repeated only if it was not acknowledged', {
  timeout: 60_000 + runs * 2000,
}, async (t) => {
  const client = await connect(t);
  if (!client) return;
  const mishap: fc.Arbitrary<Mishap> = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 20 }).map(append) },
    { weight: 3, arbitrary: fc.tuple(fc.integer({ min: 0, max: 3 }), fc.boolean()).map(([after, isDone]) => cut(after, isDone)) },
    { weight: 3, arbitrary: fc.constantFrom(0.5, 1, 3, 30, 65).map(pass) },
    { weight: 1, arbitrary: fc.constant({ kind: 'restart' } as const) },
    { weight: 1, arbitrary: fc.boolean().map((isMarked) => ({ kind: 'empty', isMarked }) as const) },
    { weight: 1, arbitrary: fc.constant({ kind: 'kill' } as const) },
    { weight: 2, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }).map((share) => ({ kind: 'deliver', share }) as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(mishap, { maxLength: 25 }), async (history) => {
      const node = await startNode(t, client);
      for (const one of history) await node.suffer(one);
      await node.check();
      await node.checkEmptied();
      await node.end();
    }),
    { numRuns: runs },
  );
});
