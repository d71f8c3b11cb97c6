import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { hashPassword } from '../../src/accounts/passwords.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { type Running, run, start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { type Received, startReceiver, until } from '../support/receiver.ts';
import { freePort, startProxy, startRedis, type TestRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Long runs by hand: SVC_FAULT_ROUNDS=20 node scripts/test.mjs nodes/faults */
const rounds = Number(process.env.SVC_FAULT_ROUNDS ?? 1);

/** A node in a process of its own, that can be killed and started again on its port and data. */
interface NodeProcess {
  name: string;
  client: Client;
  config: string;
  running: Running;
  start(): Promise<void>;
  kill(): Promise<void>;
}

async function startNodes(t: TestContext, folder: string, hook: string, redisUrls: readonly string[]): Promise<NodeProcess[]> {
  mkdirSync(join(folder, 'home'), { recursive: true });
  const password = await hashPassword('secret');
  const nodes: NodeProcess[] = [];
  for (const [index, url] of redisUrls.entries()) {
    const name = `n${index}`;
    const port = await freePort();
    const config = join(folder, `${name}.json`);
    const content = {
      server: {
        name,
        data_folder_path: join(folder, name),
        shutdown_timeout: 5,
        state: { type: 'redis', url },
        security_policy: { ban_after_failures: 3, ban_seconds: 600 },
      },
      groups: { DEFAULT_GROUP: { home_folder_path: join(folder, 'home') } },
      accounts: { alice: { password } },
      services: { web: { type: 'http', port, client_forwarded_header: 'X-Forwarded-For' } },
      event_handlers: { crm: { type: 'http', target: '40017', url: hook, batch_size: 10, retry_count: 3, retry_increase: 0.2 } },
    };
    writeFileSync(config, JSON.stringify(content));
    const node = { name, config, client: new Client(`http://127.0.0.1:${port}`) } as NodeProcess;
    node.start = async () => {
      node.running = start(t, ['serve', '--config', config], { cwd: folder });
      await node.running.line(/listening/);
    };
    node.kill = async () => {
      node.running.child.kill('SIGKILL');
      await node.running.ended;
    };
    nodes.push(node);
  }
  await Promise.all(nodes.map((node) => node.start()));
  return nodes;
}

/** Uploads without a pause over all nodes, and notes what was answered with success. */
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

function delivered(requests: readonly Received[]): string[] {
  return requests.flatMap(({ body }) =>
    (JSON.parse(body.toString('utf8')) as { events: ServiceEvent[] }).events.map(({ data }) => String(data.path)),
  );
}

const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

/** Longest time without a delivery, in milliseconds: what a takeover costs. */
function longestGapMs(requests: readonly Received[]): number {
  return Math.max(...requests.map(({ atMs }, index) => atMs - (requests[index - 1]?.atMs ?? atMs)));
}

async function until60(what: string, holds: () => boolean): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > endMs) assert.fail(`waited a minute for: ${what}`);
    await pause(50);
  }
}

test('no event of an answered upload is lost: nodes killed at any time, Redis killed, paused, emptied, cut off from one node', {
  timeout: 110_000 + rounds * 60_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis: TestRedis = await startRedis(t);
  const proxy = await startProxy(t, redis.port);
  const receiver = await startReceiver(t);
  const urls = [redis.url, redis.url, `redis://127.0.0.1:${proxy.port}`];
  const nodes = await startNodes(t, temporaryFolder(t), receiver.url, urls);
  const faults: [string, () => Promise<void>][] = [
    [
      'a node is killed',
      async () => {
        const victim = nodes[Math.floor(Math.random() * 3)] as NodeProcess;
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
      await pause(3500);
    }
  }
  await traffic.end();
  const { answered, statuses } = traffic;
  const arrived = () => new Set(delivered(receiver.requests));
  await until60('every answered upload was delivered', () => answered.every((path) => arrived().has(path)));
  const all = delivered(receiver.requests);
  console.log(
    `${answered.length} answered uploads, ${all.length} deliveries of ${arrived().size} events, statuses ${JSON.stringify([...statuses])}, longest gap ${Math.round(longestGapMs(receiver.requests))} ms`,
  );
  assert.ok(answered.length > 100);
  assert.deepEqual(
    [...statuses.keys()].filter((status) => status !== 201 && status !== 503),
    [],
    'whoever is not served is told to come again',
  );
});

test('a node that is killed in the middle is followed by another within the lease, in order', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const receiver = await startReceiver(t);
  const nodes = await startNodes(t, temporaryFolder(t), receiver.url, [redis.url, redis.url]);
  await until('somebody delivers', async () => !(await redis.command('GET {svc}:lease:crm')).startsWith('$-1'));
  const isOwner = ({ running }: NodeProcess) => running.stderr().includes('taken over');
  await until('it is known who', () => nodes.some(isOwner));
  const victim = nodes.find(isOwner) as NodeProcess;
  const other = nodes.find((node) => node !== victim) as NodeProcess;
  for (let index = 0; index < 5; index++) await other.client.put(`/home/before-${index}.txt`, 'x');
  await until('they are delivered', () => delivered(receiver.requests).length === 5);
  await victim.kill();
  const killedMs = performance.now();
  for (let index = 0; index < 5; index++) assert.equal((await other.client.put(`/home/after-${index}.txt`, 'x')).status, 201);
  await until60('the other has taken over', () => new Set(delivered(receiver.requests)).size === 10);
  const takeoverMs = performance.now() - killedMs;
  console.log(`takeover after ${Math.round(takeoverMs)} ms`);
  assert.ok(takeoverMs < 13_000, 'lease of 10 s and a second to ask for it');
  const later = delivered(receiver.requests).filter((path) => path.startsWith('/after'));
  assert.deepEqual(
    later,
    Array.from({ length: 5 }, (_, index) => `/after-${index}.txt`),
  );
});

test('sessions and bans hold on all nodes; while Redis is away both are answered with 503 and Retry-After', {
  timeout: 60_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const receiver = await startReceiver(t);
  const nodes = await startNodes(t, temporaryFolder(t), receiver.url, [redis.url, redis.url]);
  const [here, there] = nodes.map(({ client }) => client) as [Client, Client];
  const session = await here.login();
  const withSession = { headers: { authorization: `session ${session}` } };
  assert.equal((await there.get('/home/', withSession)).status, 200);
  for (let index = 0; index < 3; index++)
    await (index % 2 === 0 ? here : there).get('/home/', { user: 'alice:wrong', headers: { 'x-forwarded-for': '192.0.2.9' } });
  for (const client of [here, there]) {
    const refused = await client.get('/home/', { headers: { 'x-forwarded-for': '192.0.2.9' } });
    assert.equal(refused.status, 429, 'the right password does not help a banned address');
    assert.ok(Number(refused.headers['retry-after']) > 590);
  }
  await pause(1200);
  await redis.kill();
  for (const client of [here, there]) {
    for (const options of [withSession, {}, { user: 'alice:wrong' }]) {
      const away = await client.get('/home/', options);
      assert.equal(away.status, 503, 'nothing is let in because a check could not be made');
      assert.ok(Number(away.headers['retry-after']) > 0);
    }
  }
  await redis.restart();
  await until('sessions work again', async () => (await there.get('/home/', withSession)).status === 200);
  const banned = await here.get('/home/', { headers: { 'x-forwarded-for': '192.0.2.9' } });
  assert.equal(banned.status, 429, 'the ban holds');
  assert.equal((await here.send('POST', '/__svc__/logout', withSession)).status, 204);
  await redis.kill();
  await redis.restart();
  await until('they are back', async () => (await there.get('/home/')).status === 200);
  for (const client of [here, there])
    assert.equal((await client.get('/home/', withSession)).status, 401, 'no session lives after its logout');
});

test('svc events and svc webhook-replay work on the journal in Redis as on files', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const receiver = await startReceiver(t, { script: [{ status: 500 }, { status: 500 }, { status: 500 }, { status: 500 }] });
  const folder = temporaryFolder(t);
  const nodes = await startNodes(t, folder, receiver.url, [redis.url, redis.url]);
  const [first, second] = nodes as [NodeProcess, NodeProcess];
  await first.client.put('/home/a.txt', 'x');
  await receiver.received(4);
  await second.client.put('/home/b.txt', 'x');
  await receiver.received(5);
  const svc = (...args: string[]) => run(t, [...args, '--config', first.config], { cwd: folder });
  await until('both outcomes are recorded', async () => (await svc('events', '--deliveries', '--json')).stdout.split('\n').length === 3);
  const listed = await svc('events', '--id', '40017', '--json');
  assert.deepEqual(
    listed.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as ServiceEvent).data.path),
    ['/a.txt', '/b.txt'],
  );
  const failed = await svc('events', '--failed', '--id', '40017', '--json');
  assert.equal(failed.stdout.trim().split('\n').length, 1);
  assert.match(failed.stdout, /a\.txt/);
  const replayed = await svc('webhook-replay', '--failed', '--id', '40017', '--json');
  assert.equal(replayed.code, 0, replayed.stderr);
  assert.deepEqual(delivered((await receiver.received(6)).slice(5)), ['/a.txt']);
  const again = await svc('events', '--failed', '--id', '40017', '--json');
  assert.equal(again.stdout, '', 'the replay is recorded, too');
  const exact = await svc('webhook-replay', '--exact', '--id', '40017', '--dry-run');
  assert.equal(exact.code, 0, exact.stderr);
  assert.match(exact.stdout, /a\.txt[\s\S]*b\.txt|b\.txt[\s\S]*a\.txt/);
  await redis.kill();
  const away = await svc('events');
  assert.equal(away.code, 3, away.stderr);
  assert.match(away.stderr, /away/);
});
