// Measures 1, 2 and 3 nodes on one Redis against one node with state in memory: requests per second and CPU per request, deliveries
// per second. Needs redis-server.   node scripts/bench/nodes.mjs [SECONDS]
import { writeFileSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import { join } from 'node:path';
import { executable, makeFolders, remove } from './support/benchmark.mjs';
import { endAll, send, sessionOf, started } from './support/exchange.mjs';
import { cpuSeconds, freePort } from './support/machine.mjs';
import { hashOf } from './support/servers.mjs';

const seconds = Number(process.argv[2] ?? 4);
const { folder, home } = makeFolders();

const ask = (agent, port, { path, ...options }, body) => send(`http://127.0.0.1:${port}${path}`, { agent, body, ...options });

async function startNode(name, state, hook) {
  const config = {
    server: { name, data_folder_path: join(folder, name), state, log: { level: 'error' }, security_policy: { ban_after_failures: 5 } },
    groups: { DEFAULT_GROUP: { home_folder_path: home } },
    authentications: { open: { type: 'application' } },
    accounts: { alice: { password: hash } },
    services: { web: { type: 'http', port: 0 } },
    event_handlers: hook ? { crm: { type: 'http', target: '40017', url: hook, batch_size: 50 } } : {},
  };
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  const { child, line, end } = started([executable, 'serve', '--config', path], folder);
  return { child, end, port: Number((await line(/:(\d+)\//))[1]) };
}

/** Requests for some seconds over all nodes, 16 at once on each. */
async function measure(nodes, redis, make) {
  const agent = new Agent({ keepAlive: true });
  const before = nodes.map(({ child }) => 1e6 * cpuSeconds(child.pid));
  const redisBefore = redis ? 1e6 * cpuSeconds(redis.pid) : 0;
  const startMs = performance.now();
  let count = 0;
  await Promise.all(
    nodes.flatMap(({ port }, node) =>
      Array.from({ length: 16 }, async (_, lane) => {
        for (let index = 0; performance.now() - startMs < seconds * 1000; index++) {
          const [options, body] = make(`${node}-${lane}-${index}`);
          const { status } = await ask(agent, port, options, body);
          if (status >= 300) throw new Error(`status ${status}`);
          count++;
        }
      }),
    ),
  );
  const elapsedS = (performance.now() - startMs) / 1000;
  const nodesUs = nodes.reduce((sum, { child }, index) => sum + 1e6 * cpuSeconds(child.pid) - before[index], 0);
  agent.destroy();
  return {
    perS: Math.round(count / elapsedS),
    nodeUs: Math.round(nodesUs / count),
    redisUs: redis ? Math.round((1e6 * cpuSeconds(redis.pid) - redisBefore) / count) : 0,
    count,
  };
}

const hash = hashOf('secret');
try {
  const redisPort = await freePort();
  const args = ['--port', String(redisPort), '--save', '', '--appendonly', 'yes', '--dir', folder];
  const { child: redis, line } = started(args, folder, 'redis-server');
  await line(/Ready to accept connections/);
  const shared = { type: 'redis', url: `redis://127.0.0.1:${redisPort}` };
  let deliveredEvents = 0;
  const receiver = createServer(async (incoming, outgoing) => {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    deliveredEvents += JSON.parse(text).events.length;
    outgoing.end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => receiver.once('listening', resolve));
  const hook = `http://127.0.0.1:${receiver.address().port}/`;
  const authorization = `Basic ${Buffer.from('alice:secret').toString('base64')}`;
  const report = (name, { perS, nodeUs, redisUs }) =>
    console.log(`${name.padEnd(44)} ${String(perS).padStart(6)}/s  ${String(nodeUs).padStart(5)} µs CPU, Redis ${redisUs} µs`);
  for (const [label, state, size] of [
    ['memory, 1 node', { type: 'memory' }, 1],
    ['redis, 1 node', shared, 1],
    ['redis, 2 nodes', shared, 2],
    ['redis, 3 nodes', shared, 3],
  ]) {
    const nodes = [];
    for (let index = 0; index < size; index++) nodes.push(await startNode(`${label.replaceAll(/\W+/g, '-')}${index}`, state, hook));
    const agent = new Agent();
    const session = await sessionOf(`http://127.0.0.1:${nodes[0].port}`, 'alice', 'secret');
    const ofRedis = state === shared ? redis : undefined;
    await ask(agent, nodes[0].port, { method: 'PUT', path: '/home/a.txt', headers: { authorization } }, 'x'.repeat(1024));
    const get = { method: 'GET', path: '/home/a.txt' };
    // The first look at a password costs a scrypt on each node.
    for (const { port } of nodes) await ask(agent, port, { method: 'GET', path: '/home/a.txt', headers: { authorization } });
    report(`${label}: GET 1 KiB, session`, await measure(nodes, ofRedis, () => [{ ...get, headers: session }]));
    report(`${label}: GET 1 KiB, Basic`, await measure(nodes, ofRedis, () => [{ ...get, headers: { authorization } }]));
    deliveredEvents = 0;
    const startMs = performance.now();
    const put = await measure(nodes, ofRedis, (name) => [{ method: 'PUT', path: `/home/${name}.txt`, headers: session }, 'x']);
    report(`${label}: PUT, session, one webhook`, put);
    while (deliveredEvents < put.count && performance.now() - startMs < 60_000) await new Promise((resolve) => setTimeout(resolve, 10));
    console.log(
      `${`${label}: deliveries, batches of 50`.padEnd(44)} ${Math.round((deliveredEvents * 1000) / (performance.now() - startMs))} events/s`,
    );
    for (const { end } of nodes) await end('SIGTERM');
  }
  receiver.close();
} finally {
  await endAll();
  remove(folder);
}
