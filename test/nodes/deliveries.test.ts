import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../support/client.ts';
import { startNode, startNodesOnRedis, type TestNode } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';

const handler = (url: string, options: Record<string, unknown> = {}) => ({ type: 'http', target: '40017', url, ...options });

const owner = (nodes: readonly TestNode[]) => nodes.filter(({ log }) => log.some((line) => line.includes('taken over')));
const paths = (receiver: { events(): { data: Record<string, unknown> }[] }) => receiver.events().map(({ data }) => data.path);

test('for each handler, one node delivers the events of all nodes, in the order of the journal', async (t) => {
  const receiver = await startReceiver(t);
  const begun = await startNodesOnRedis(t, 3, { event_handlers: { crm: handler(receiver.url) } });
  if (!begun) return;
  const { nodes } = begun;
  for (let index = 0; index < 30; index++) assert.equal((await nodes[index % 3]?.put(`/home/${index}.txt`, 'x'))?.status, 201);
  await until('all events are delivered', () => receiver.requests.length >= 30);
  assert.deepEqual(
    paths(receiver),
    Array.from({ length: 30 }, (_, index) => `/${index}.txt`),
  );
  assert.equal(owner(nodes).length, 1);
});

test('a node that is stopped hands over its handlers immediately, and no event is lost or repeated', async (t) => {
  const receiver = await startReceiver(t);
  const begun = await startNodesOnRedis(t, 2, { event_handlers: { crm: handler(receiver.url, { batch_size: 3 }) } });
  if (!begun) return;
  const { nodes, redis } = begun;
  const [first] = owner(nodes);
  const second = nodes.find((node) => node !== first) as TestNode;
  for (let index = 0; index < 20; index++) await second.put(`/home/${index}.txt`, 'x');
  const lease = () => redis.command('GET {svc}:lease:crm');
  const held = await lease();
  assert.ok(!held.startsWith('$-1'), 'a node has the lease');
  assert.equal(await first?.stop(), true);
  assert.notEqual(await lease(), held, 'the other node need not wait until the lease expires');
  for (let index = 20; index < 40; index++) await second.put(`/home/${index}.txt`, 'x');
  await until('all events are delivered', () => paths(receiver).length >= 40);
  assert.deepEqual(
    paths(receiver),
    Array.from({ length: 40 }, (_, index) => `/${index}.txt`),
  );
});

test('a restarted node continues at its positions, and a new handler gets no earlier events', async (t) => {
  const receiver = await startReceiver(t);
  const late = await startReceiver(t);
  const begun = await startNodesOnRedis(t, 1, { event_handlers: { crm: handler(receiver.url) } });
  if (!begun) return;
  const { redis, folder, nodes } = begun;
  await nodes[0]?.put('/home/1.txt', 'x');
  await receiver.received(1);
  await nodes[0]?.stop();
  const off = await startNode(t, folder, 'n0', redis.url, {});
  await off.put('/home/2.txt', 'x');
  await off.stop();
  const again = await startNode(t, folder, 'n0', redis.url, { event_handlers: { crm: handler(receiver.url), late: handler(late.url) } });
  await receiver.received(2);
  await again.put('/home/3.txt', 'x');
  await receiver.received(3);
  await late.received(1);
  assert.deepEqual(paths(receiver), ['/1.txt', '/2.txt', '/3.txt']);
  assert.deepEqual(paths(late), ['/3.txt']);
});

test('the node that got an upload sends its event to the back-end, and no other node sends it again', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { delayMs: 300, headers: { 'x-id': '7' } } });
  const begun = await startNodesOnRedis(t, 2, {
    service: { api_backend_uuid: 'backend', api_passthrough_headers: ['x-id'] },
    event_handlers: { backend: handler(receiver.url, { target: '40017, 40012' }) },
  });
  if (!begun) return;
  const { nodes } = begun;
  const replies = await Promise.all(nodes.map((node, index) => node.put(`/home/${index}.txt`, 'x')));
  assert.deepEqual(
    replies.map(({ status, headers }) => [status, headers['x-id']]),
    [
      [201, '7'],
      [201, '7'],
    ],
  );
  // When the event of this deletion is delivered, the handler is past the events of the uploads.
  assert.equal((await nodes[0]?.send('DELETE', '/home/0.txt'))?.status, 204);
  await receiver.received(3);
  assert.deepEqual(paths(receiver).slice(0, 2).sort(), ['/0.txt', '/1.txt'], 'each event was sent once');
  assert.equal(receiver.events()[2]?.id, '40012');
});

test('a handler that stopped after too many failures stays stopped on all nodes until the node that ran it reloads', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500 }, { status: 500 }] });
  const other = await startReceiver(t);
  const config = { event_handlers: { crm: handler(receiver.url, { fail_after_errors: 2 }), other: handler(other.url) } };
  const begun = await startNodesOnRedis(t, 2, config);
  if (!begun) return;
  const { nodes, folder, redis } = begun;
  for (let index = 0; index < 3; index++) await nodes[0]?.put(`/home/${index}.txt`, 'x');
  await receiver.received(2);
  await other.received(3);
  const stops = ({ log }: TestNode) => log.some((line) => line.includes('an event handler stopped'));
  await until('the handler has stopped', () => nodes.some(stops));
  // The node on which the handler stopped goes on renewing the lease, so the other node does not take over the handler.
  let leftMs = Number.POSITIVE_INFINITY;
  await until('the lease is renewed', async () => {
    const before = leftMs;
    leftMs = Number((await redis.command('PTTL {svc}:lease:crm')).slice(1));
    return leftMs > before;
  });
  assert.equal(receiver.requests.length, 2);
  const stopped = nodes.find(stops) as TestNode;
  const name = nodes.indexOf(stopped) === 0 ? 'n0' : 'n1';
  const { testConfig } = await import('../support/server.ts');
  const server = { name, data_folder_path: `${folder}/${name}`, state: { type: 'redis', url: redis.url } };
  await stopped.service.reload(await testConfig(folder, { ...config, server }));
  await receiver.received(3);
  assert.equal(paths(receiver).at(-1), '/2.txt');
});

test('while Redis is absent, svc_redis_up is 0, and the figures from Redis keep their last values', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500 }] });
  const begun = await startNodesOnRedis(t, 2, {
    services: { web: { type: 'http', port: 0 }, eyes: { type: 'monitor', port: 0 } },
    event_handlers: { crm: handler(receiver.url) },
    server: { security_policy: { ban_after_failures: 0 } },
  });
  if (!begun) return;
  const { redis, nodes } = begun;
  const scrape = async (node: TestNode | undefined) => {
    const monitor = new Client(node?.service.listening().find(({ uuid }) => uuid === 'eyes')?.url ?? '');
    const { text } = await monitor.get('/metrics', { user: null });
    const samples = text.split('\n').filter((line) => !line.startsWith('#') && line !== '');
    return new Map(samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
  };
  await nodes[0]?.put('/home/1.txt', 'x');
  await receiver.received(1);
  await nodes[0]?.login();
  const lease = 'svc_handler_lease_owner{handler="crm"}';
  await until('all events are forwarded', async () => (await scrape(nodes[0])).get('svc_events_not_forwarded') === 0);
  const before = await scrape(nodes[0]);
  assert.equal(before.get('svc_redis_up'), 1);
  assert.ok((before.get('svc_journal_stream_bytes') ?? 0) > 0);
  assert.equal((before.get(lease) ?? 0) + ((await scrape(nodes[1])).get(lease) ?? 0), 1);
  const configs = await Promise.all(
    nodes.map(async (node) => [...(await scrape(node)).keys()].find((name) => name.startsWith('svc_config_info'))),
  );
  assert.match(configs[0] ?? '', /^svc_config_info\{hash="[0-9a-f]{12}"\}$/);
  assert.equal(configs[0], configs[1], 'both nodes have the same configuration');
  await redis.kill();
  await nodes[0]?.put('/home/2.txt', 'x');
  await until('the node notices that Redis is absent', async () => (await scrape(nodes[0])).get('svc_redis_up') === 0);
  const away = await scrape(nodes[0]);
  assert.ok((away.get('svc_events_not_forwarded') ?? 0) > 0);
  for (const name of ['svc_journal_stream_bytes', 'svc_handler_running{handler="crm"}', 'svc_sessions{service="web"}', lease])
    assert.equal(away.get(name), before.get(name), name);
  // Metrics of Node.js itself, such as files being read, can disappear.
  for (const name of before.keys()) if (name.startsWith('svc_')) assert.ok(away.has(name), `${name} vanished`);
});

test('while Redis is absent the known state of handlers is shown with its age, even if it was never requested before', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { isHeld: true } });
  const begun = await startNodesOnRedis(t, 2, {
    services: { web: { type: 'http', port: 0 }, eyes: { type: 'monitor', port: 0 } },
    event_handlers: { crm: handler(receiver.url) },
  });
  if (!begun) return;
  const { redis, nodes } = begun;
  await until('a node runs the handler', () => owner(nodes).length === 1);
  for (let index = 0; index < 3; index++) await nodes[0]?.put(`/home/${index}.txt`, 'x');
  await receiver.received(1);
  const figureOf = (node: TestNode) => async (name: string) => {
    const monitor = new Client(node.service.listening().find(({ uuid }) => uuid === 'eyes')?.url ?? '');
    const { text } = await monitor.get('/metrics', { user: null });
    const found = new RegExp(`^svc_handler_${name}\\{handler="crm"\\} (.*)$`, 'm').exec(text)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const [delivering] = owner(nodes);
  const other = figureOf(nodes.find((node) => node !== delivering) as TestNode);
  await until('the other node knows that the handler is running', async () => (await other('running')) === 1);
  assert.equal(await other('known_seconds'), 0);
  await redis.kill();
  for (const figure of [figureOf(delivering as TestNode), other]) {
    await until('the age is reported', async () => ((await figure('known_seconds')) ?? 0) > 0);
    assert.equal(await figure('running'), 1);
    assert.equal(await figure('paused'), 0);
    assert.notEqual(await figure('waiting_events'), undefined);
    const ageS = (await figure('known_seconds')) ?? 0;
    await until('the age grows', async () => ((await figure('known_seconds')) ?? 0) > ageS);
  }
  receiver.release();
});

test('/ready reports that Redis is absent, and that it is back', async (t) => {
  const begun = await startNodesOnRedis(t, 1, { services: { web: { type: 'http', port: 0 }, eyes: { type: 'monitor', port: 0 } } });
  if (!begun) return;
  const { redis, nodes } = begun;
  const monitor = new Client(nodes[0]?.service.listening().find(({ uuid }) => uuid === 'eyes')?.url ?? '');
  const ready = () => monitor.get('/ready', { user: null });
  assert.equal((await ready()).status, 200);
  await redis.kill();
  await until('the node is not ready', async () => (await ready()).status === 503);
  assert.match((await ready()).json<{ checks: { state: string } }>().checks.state, /Redis .* is away/);
  assert.equal((await monitor.get('/health', { user: null })).status, 200);
  assert.equal((await monitor.get('/metrics', { user: null })).status, 200, 'the available figures are returned');
  await redis.restart();
  await until('the node is ready again', async () => (await ready()).status === 200);
});
