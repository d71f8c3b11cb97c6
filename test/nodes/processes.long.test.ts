import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countStatuses, from, guessAtOnce } from '../support/guesses.ts';
import { delivered, type NodeProcess, startNodes, untilWithinMinute } from '../support/node-process.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { testUser } from '../support/secrets.ts';
import { temporaryFolder } from '../support/temp.ts';

test('if the node that runs a handler is killed, another node takes over soon after the lease has expired, and delivers in order', {
  timeout: 60_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const receiver = await startReceiver(t);
  const nodes = await startNodes(t, temporaryFolder(t), receiver.url, [redis.url, redis.url]);
  await until('a node has the lease', async () => !(await redis.command('GET {svc}:lease:crm')).startsWith('$-1'));
  const isOwner = ({ running }: NodeProcess) => running.stderr().includes('taken over');
  await until('the owner of the lease is known', () => nodes.some(isOwner));
  const victim = nodes.find(isOwner) as NodeProcess;
  const other = nodes.find((node) => node !== victim) as NodeProcess;
  for (let index = 0; index < 5; index++) await other.client.put(`/home/before-${index}.txt`, 'x');
  await until('the five files are delivered', () => delivered(receiver.requests).length === 5);
  await victim.kill();
  const killedMs = performance.now();
  for (let index = 0; index < 5; index++) assert.equal((await other.client.put(`/home/after-${index}.txt`, 'x')).status, 201);
  await untilWithinMinute('the other node has taken over', () => new Set(delivered(receiver.requests)).size === 10);
  const takeoverMs = performance.now() - killedMs;
  console.log(`takeover after ${Math.round(takeoverMs)} ms`);
  assert.ok(takeoverMs < 13_000, '10 s until the lease expires, and a second until a node asks for it');
  const later = delivered(receiver.requests).filter((path) => path.startsWith('/after'));
  assert.deepEqual(
    later,
    Array.from({ length: 5 }, (_, index) => `/after-${index}.txt`),
  );
});

test('concurrent guesses at two nodes share the slots of one address', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const receiver = await startReceiver(t);
  const nodes = await startNodes(t, temporaryFolder(t), receiver.url, [redis.url, redis.url]);
  const clients = nodes.map(({ client }) => client);
  const { guesses, inTheMiddle } = await guessAtOnce(clients, 200, '203.0.113.1', testUser);
  assert.deepEqual(countStatuses(guesses), { 401: 3, 429: 197 });
  assert.equal(inTheMiddle?.status, 429);
  for (const client of clients) assert.equal((await client.get('/home/', from('203.0.113.2', testUser))).status, 200);
});
