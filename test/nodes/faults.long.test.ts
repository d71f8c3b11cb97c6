import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delivered, type NodeProcess, startNodes, untilWithinMinute } from '../support/node-process.ts';
import { randomFrom } from '../support/random.ts';
import { type Received, startReceiver } from '../support/receiver.ts';
import { startProxy, startRedis, type TestRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

/** For long runs: SVC_FAULT_ROUNDS=20 SVC_TEST_TIMEOUT_MS=3600000 node scripts/test.mjs nodes/faults */
const rounds = Number(process.env.SVC_FAULT_ROUNDS ?? 1);
const seed = Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Uploads continuously to all nodes, and records the successes. */
function load(nodes: readonly NodeProcess[]) {
  const answered: string[] = [];
  const statuses = new Map<number, number>();
  let isOver = false;
  const lanes = nodes.map(async (node, lane) => {
    for (let index = 0; !isOver; index++) {
      const path = `/${lane}-${index}.txt`;
      try {
        const { status } = await node.client.put(`/home${path}`, 'x', { mayFail: true });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 201) answered.push(path);
      } catch {
        // The node is down.
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
  return {
    answered,
    statuses,
    async end() {
      isOver = true;
      await Promise.all(lanes);
    },
  };
}

const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

/** Returns the longest time in milliseconds without a delivery, which is the duration of a takeover. */
function longestGapMs(requests: readonly Received[]): number {
  return Math.max(...requests.map(({ atMs }, index) => atMs - (requests[index - 1]?.atMs ?? atMs)));
}

test('no event of an answered upload is lost if nodes are killed, or Redis is killed, paused, emptied or cut off', {
  timeout: 110_000 + rounds * 60_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  console.log(`seed ${seed}: ${t.name}`);
  const random = randomFrom(seed);
  const redis: TestRedis = await startRedis(t);
  const proxy = await startProxy(t, redis.port);
  const receiver = await startReceiver(t);
  const urls = [redis.url, redis.url, `redis://127.0.0.1:${proxy.port}`];
  const nodes = await startNodes(t, temporaryFolder(t), receiver.url, urls);
  const faults: [string, () => Promise<void>][] = [
    [
      'a node is killed',
      async () => {
        const victim = nodes[Math.floor(random() * 3)] as NodeProcess;
        await victim.kill();
        await pause(1000);
        await victim.start();
      },
    ],
    [
      'Redis is killed',
      async () => {
        await redis.kill();
        await pause(1000);
        await redis.restart();
      },
    ],
    [
      'Redis is paused',
      async () => {
        redis.pause();
        await pause(rounds > 1 ? 10_000 : 4000);
        redis.resume();
      },
    ],
    ['Redis is emptied', async () => void (await redis.command('FLUSHALL'))],
    [
      'a node is cut off',
      async () => {
        proxy.cut();
        await pause(rounds > 1 ? 12_000 : 4000);
        proxy.mend();
      },
    ],
  ];
  const traffic = load(nodes);
  await pause(1500);
  for (let round = 0; round < rounds; round++) {
    for (const [, inflict] of faults) {
      await inflict();
      await pause(2500);
    }
  }
  await traffic.end();
  const { answered, statuses } = traffic;
  const arrived = () => new Set(delivered(receiver.requests));
  await untilWithinMinute('every answered upload was delivered', () => {
    const paths = arrived();
    return answered.every((path) => paths.has(path));
  });
  const all = delivered(receiver.requests);
  console.log(
    `${answered.length} answered uploads, ${all.length} deliveries of ${arrived().size} events, statuses ${JSON.stringify([...statuses])}, longest gap ${Math.round(longestGapMs(receiver.requests))} ms`,
  );
  assert.ok(answered.length > 100);
  assert.deepEqual(
    [...statuses.keys()].filter((status) => status !== 201 && status !== 503),
    [],
    'a client that is not served is told to try again',
  );
});
