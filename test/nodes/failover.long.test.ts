import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from '../support/client.ts';
import { untilWithinMinute } from '../support/node-process.ts';
import { startNode, type TestNode } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { markAsUsed, type TestRedis } from '../support/redis.ts';
import { startCluster, startSentinelGroup, untilReplicated } from '../support/redis-groups.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Two Redis servers. One takes over when the other dies. */
interface Pair {
  url: string;
  primary: TestRedis;
  replica: TestRedis;
}

async function clusterPair(t: TestContext): Promise<Pair> {
  const cluster = await startCluster(t);
  const primary = await cluster.owner();
  await markAsUsed(primary.command);
  return { url: cluster.url, primary, replica: await cluster.addReplica(primary) };
}

for (const [kind, begin] of [
  ['Sentinel', startSentinelGroup],
  ['a cluster', clusterPair],
] as const)
  test(`two nodes on ${kind}: the primary is killed during uploads, no confirmed change is lost, and sessions stay`, {
    timeout: 110_000,
  }, async (t) => {
    if (!hasProgram(t, 'redis-server')) return;
    const { url, primary, replica } = await begin(t);
    const receiver = await startReceiver(t);
    const folder = temporaryFolder(t);
    const config = {
      services: { web: { type: 'http', port: 0 }, eyes: { type: 'monitor', port: 0 } },
      event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url, batch_size: 10 } },
    };
    const nodes = [await startNode(t, folder, 'n0', url, config), await startNode(t, folder, 'n1', url, config)];
    const [here, there] = nodes as [TestNode, TestNode];
    const session = { headers: { authorization: `session ${await here.login()}` } };
    const over = { headers: { authorization: `session ${await here.login()}` } };
    assert.equal((await there.get('/home/', session)).status, 200);
    await untilReplicated(primary);
    const monitor = new Client(here.service.listening().find(({ uuid }) => uuid === 'eyes')?.url ?? '');
    const ready = async () => (await monitor.get('/ready', { user: null })).status;

    const answered: string[] = [];
    const others = new Set<number>();
    let isOver = false;
    const lanes = nodes.map(async (node, lane) => {
      for (let index = 0; !isOver; index++) {
        const path = `/${lane}-${index}.txt`;
        const { status } = await node.put(`/home${path}`, 'x');
        if (status === 201) answered.push(path);
        else others.add(status);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });
    await until('uploads are running', () => answered.length > 20);
    replica.pause();
    assert.equal((await here.send('POST', '/__svc__/logout', over)).status, 204);
    await primary.kill();
    replica.resume();
    await until('the node reports that it is not ready', async () => (await ready()) === 503);
    assert.equal((await there.get('/home/', session)).status, 503);
    await untilWithinMinute('the replica serves', () => nodes.every(({ log }) => log.some((line) => line.includes('Redis is back'))));
    assert.equal(await ready(), 200);
    for (const node of nodes) {
      assert.equal((await node.get('/home/', session)).status, 200, 'a session outlives the failover');
      assert.equal((await node.get('/home/', over)).status, 401, 'a logout that the replica had not received still holds');
    }
    const before = answered.length;
    await until('uploads continue', () => answered.length > before + 10);
    isOver = true;
    await Promise.all(lanes);
    const delivered = () => new Set(receiver.events().map(({ data }) => data.path));
    await untilWithinMinute('every answered upload was delivered', () => answered.every((path) => delivered().has(path)));
    assert.deepEqual(
      [...others].filter((status) => status !== 503),
      [],
    );
  });
