import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delivered, type NodeProcess, startNodes, untilWithinMinute } from '../support/node-process.ts';
import { startNode, type TestNode } from '../support/nodes.ts';
import { type Received, startReceiver, until } from '../support/receiver.ts';
import { startProxy, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

test('a node that was killed and starts again gets its handlers back before its lease expires, although another node is there', {
  timeout: 110_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const receiver = await startReceiver(t);
  const nodes = await startNodes(t, temporaryFolder(t), receiver.url, [redis.url, redis.url]);
  const isOwner = ({ running }: NodeProcess) => running.stderr().includes('taken over');
  await until('a node runs the handler', () => nodes.some(isOwner));
  const owner = nodes.find(isOwner) as NodeProcess;
  const other = nodes.find((node) => node !== owner) as NodeProcess;
  await other.client.put('/home/before.txt', 'x');
  await until('the first file is delivered', () => delivered(receiver.requests).length === 1);
  const killedMs = performance.now();
  await owner.kill();
  await owner.start();
  await until('the restarted node has taken over', () => isOwner(owner));
  assert.equal((await other.client.put('/home/after.txt', 'x')).status, 201);
  await until('the next file is delivered', () => delivered(receiver.requests).includes('/after.txt'));
  assert.ok(performance.now() - killedMs < 10_000, 'the node has its handlers back before its former lease of ten seconds has expired');
  assert.equal(isOwner(other), false);
});

test('handlers are spread over the nodes; they move from a node that ends, and to a node that starts', {
  timeout: 110_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const folder = temporaryFolder(t);
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const receivers = await Promise.all(names.map(() => startReceiver(t)));
  const handlers = Object.fromEntries(names.map((name, index) => [name, { type: 'http', target: '40017', url: receivers[index]?.url }]));
  const begin = async (name: string) => {
    const node = await startNode(t, folder, name, redis.url, { event_handlers: handlers });
    begun.push(node);
    return node;
  };
  const nodes = new Map<string, TestNode>();
  const begun: TestNode[] = [];
  for (const name of ['n0', 'n1', 'n2']) nodes.set(name, await begin(name));
  const owned = async () => {
    const counts = new Map<string, number>();
    for (const name of names) {
      const server = (await redis.command(`GET {svc}:lease:${name}`)).split(/[\r\n]+/)[1]?.replace(/\..*/, '');
      if (server?.includes('-')) counts.set(server, (counts.get(server) ?? 0) + 1);
    }
    return [...counts.values()].sort();
  };
  const spread =
    (...counts: number[]) =>
    async () =>
      JSON.stringify(await owned()) === JSON.stringify(counts);
  await untilWithinMinute('each of three nodes has two handlers', spread(2, 2, 2));
  let uploads = 0;
  const load = setInterval(() => void nodes.get('n0')?.put(`/home/${uploads++}.txt`, 'x'), 50);
  t.after(() => clearInterval(load));
  await nodes.get('n2')?.stop();
  await untilWithinMinute('each of two nodes has three handlers', spread(3, 3));
  nodes.set('n2', await begin('n2'));
  await untilWithinMinute('each of three nodes has two handlers again', spread(2, 2, 2));
  clearInterval(load);
  // The first node takes over at most six handlers, the second three, the third two; two move when n2 stops, and two when it is back.
  const takeovers = begun.flatMap(({ log }) => log.filter((line) => line.includes('taken over'))).length;
  assert.ok(takeovers <= 15, `${takeovers} handlers were taken over: no node gives up or takes more than it should`);
  await pause(200);
  const expected = Array.from({ length: uploads }, (_, index) => `/${index}.txt`);
  for (const receiver of receivers) {
    await until('all events are delivered', () => delivered(receiver.requests).length >= uploads);
    assert.deepEqual([...delivered(receiver.requests)].sort(), [...expected].sort(), 'no event is lost or sent twice');
  }
});

function longestGapMs(requests: readonly Received[]): number {
  return Math.max(...requests.map(({ atMs }, index) => atMs - (requests[index - 1]?.atMs ?? atMs)));
}

const outageMs = 5000;

for (const kind of ['paused', 'cut off', 'killed'] as const)
  test(`after Redis was ${kind}, deliveries continue within five seconds of its return`, { timeout: 110_000 }, async (t) => {
    if (!hasProgram(t, 'redis-server')) return;
    const redis = await startRedis(t);
    const proxy = await startProxy(t, redis.port);
    const receiver = await startReceiver(t);
    const url = `redis://127.0.0.1:${proxy.port}`;
    const nodes = await startNodes(t, temporaryFolder(t), receiver.url, [url, url]);
    let uploads = 0;
    const load = setInterval(() => void nodes[uploads % 2]?.client.put(`/home/${uploads++}.txt`, 'x').catch(() => {}), 100);
    t.after(() => clearInterval(load));
    await untilWithinMinute('deliveries are running', () => receiver.requests.length > 20);
    const before = receiver.requests.length;
    if (kind === 'paused') redis.pause();
    else if (kind === 'cut off') proxy.cut();
    else await redis.kill();
    await pause(outageMs);
    if (kind === 'paused') redis.resume();
    else if (kind === 'cut off') proxy.mend();
    else await redis.restart();
    await untilWithinMinute('deliveries continue', () => receiver.requests.length > before + 20);
    clearInterval(load);
    const gapMs = longestGapMs(receiver.requests);
    console.log(`Redis ${kind} for ${outageMs} ms: ${Math.round(gapMs)} ms without a delivery`);
    assert.ok(gapMs < outageMs + 5000);
  });
