import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { Server } from '../../src/server/server.ts';
import { Client } from '../support/client.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { startServer, type TestConfig, type TestServer, testConfig } from '../support/server.ts';

const monitored = (service: Record<string, unknown> = {}) => ({
  web: { type: 'http', port: 0, ...service },
  eyes: { type: 'monitor', port: 0 },
});

async function start(t: TestContext, config: TestConfig = {}): Promise<{ server: TestServer; monitor: Client }> {
  const server = await startServer(t, { services: monitored(config.service), ...config });
  return { server, monitor: new Client(server.service.listening().find(({ uuid }) => uuid === 'eyes')?.url ?? '') };
}

/** Returns the value of one sample; undefined if there is none. */
async function sample(monitor: Client, name: string, labels: Record<string, string> = {}): Promise<number | undefined> {
  const { text } = await monitor.get('/metrics', { user: null });
  const line = text
    .split('\n')
    .find(
      (candidate) =>
        (candidate.startsWith(`${name}{`) || candidate.startsWith(`${name} `)) &&
        Object.entries(labels).every(([label, value]) => candidate.includes(`${label}="${value}"`)),
    );
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
}

test('/health and /ready answer, all other paths are refused', async (t) => {
  const { monitor } = await start(t);
  const health = await monitor.get('/health', { user: null });
  assert.deepEqual([health.status, health.json()], [200, { status: 'ok' }]);
  const ready = await monitor.get('/ready?x', { user: null });
  assert.deepEqual([ready.status, ready.json()], [200, { status: 'ready', checks: { server: 'ok', journal: 'ok', state: 'ok' } }]);
  assert.equal((await monitor.get('/', { user: null })).status, 404);
  const head = await monitor.send('HEAD', '/health', { user: null });
  assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, health.headers['content-length'], '']);
  assert.match(
    await monitor.raw('GET /health HTTP/1.1\r\nHost: a%41\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1\.1 200 .*\{"status":"ok"\}\n$/s,
  );
  const post = await monitor.send('POST', '/ready', { user: null, body: 'x' });
  assert.deepEqual([post.status, post.headers.allow], [405, 'GET, HEAD']);
});

test('requests are counted by method, style and status; received and sent bytes are counted', async (t) => {
  const { server, monitor } = await start(t);
  await server.put('/home/a.txt', 'x'.repeat(50_000));
  await server.get('/home/a.txt');
  await server.get('/home/missing.txt');
  await server.get('/home/', { headers: { accept: 'text/html' } });
  await server.send('PURGE', '/home/a.txt');
  const requests = (labels: Record<string, string>) => sample(monitor, 'svc_http_requests_total', { service: 'web', ...labels });
  await until('all five requests are counted', async () => (await requests({ method: 'other' })) === 1);
  assert.equal(await requests({ method: 'PUT', style: 'rest', status: '201' }), 1);
  assert.equal(await requests({ method: 'GET', style: 'rest', status: '404' }), 1);
  assert.equal(await requests({ method: 'GET', style: 'browser', status: '200' }), 1);
  assert.equal(await sample(monitor, 'svc_http_request_duration_seconds_count', { method: 'PUT', style: 'rest' }), 1);
  assert.ok(((await sample(monitor, 'svc_http_received_bytes_total')) ?? 0) > 50_000);
  assert.ok(((await sample(monitor, 'svc_http_sent_bytes_total')) ?? 0) > 50_000);
  assert.ok(((await sample(monitor, 'svc_journal_bytes')) ?? 0) > 1000);
  assert.ok(((await sample(monitor, 'process_cpu_seconds_total')) ?? 0) > 0);
});

test('sessions, authentication results and events are counted', async (t) => {
  const { server, monitor } = await start(t);
  await server.login();
  await server.login();
  await server.get('/home/', { user: 'alice:wrong' });
  assert.equal(await sample(monitor, 'svc_sessions', { service: 'web' }), 2);
  assert.equal(await sample(monitor, 'svc_authentications_total', { outcome: 'accepted', method: 'application' }), 2);
  assert.equal(await sample(monitor, 'svc_authentications_total', { outcome: 'unknown' }), 1);
  assert.equal(await sample(monitor, 'svc_events_total', { id: '20021' }), 1);
});

test('metrics show deliveries by handler and outcome, the number and age of waiting events, and suspended URLs', async (t) => {
  const dead = await startReceiver(t, { otherwise: { fault: 'hang' } });
  const failing = await startReceiver(t, { otherwise: { status: 500 } });
  const { server, monitor } = await start(t, {
    server: { shutdown_timeout: 0.1 },
    event_handlers: {
      dead: { type: 'http', target: '40017', url: dead.url },
      failing: { type: 'http', target: '40017', url: `${failing.url}, ${failing.url}/b` },
    },
  });
  for (const name of ['a', 'b', 'c']) await server.put(`/home/${name}`, 'x');
  await until('the failing handler has tried', async () => (await sample(monitor, 'svc_deliveries_total', { outcome: 'failed' })) === 3);
  assert.equal(await sample(monitor, 'svc_suspended_urls', { kind: 'event-handler', uuid: 'failing' }), 2);
  assert.equal(await sample(monitor, 'svc_delivery_attempt_duration_seconds_count', { handler: 'failing' }), 2);
  assert.equal(await sample(monitor, 'svc_handler_running', { handler: 'dead' }), 1);
  const waiting = (await sample(monitor, 'svc_handler_waiting_events', { handler: 'dead' })) ?? 0;
  const all = (await server.events()).length;
  assert.ok(waiting >= 3 && waiting <= all, `${waiting} of ${all} wait`);
  await until(
    'the oldest waiting event gets older',
    async () => ((await sample(monitor, 'svc_handler_oldest_waiting_seconds', { handler: 'dead' })) ?? 0) > 0.1,
  );
  await until(
    'the failing handler has no waiting events',
    async () => (await sample(monitor, 'svc_handler_waiting_events', { handler: 'failing' })) === 0,
  );
});

test('replies, events and the log contain the ID of the request; a client may send its own ID', async (t) => {
  const { server } = await start(t);
  const own = await server.put('/home/a.txt', 'x', { headers: { 'x-request-id': 'upload-17' } });
  assert.equal(own.headers['x-request-id'], 'upload-17');
  const odd = await server.get('/home/a.txt', { headers: { 'x-request-id': 'a b"c' } });
  assert.match(String(odd.headers['x-request-id']), /^[0-9a-f-]{36}$/);
  const bad = await server.get('/home/%zz', { headers: { 'x-request-id': 'bad-1' } });
  assert.deepEqual([bad.status, bad.headers['x-request-id']], [400, 'bad-1']);
  const events = await server.events();
  const ofUpload = events.filter(({ data }) => data.request_id === 'upload-17').map(({ id }) => id);
  assert.deepEqual(ofUpload, ['20137', '40021', '40017']);
  assert.ok(server.log.some((line) => line.includes('"request_id":"upload-17"') && line.includes('"status":201')));
});

test('traceparent is passed to the callout and the webhook with a new parent ID; a malformed traceparent is not passed', async (t) => {
  const traces: (string | undefined)[] = [];
  const endpoint = createServer((incoming, outgoing) => {
    traces.push(incoming.headers.traceparent as string | undefined);
    incoming.resume();
    outgoing.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => endpoint.once('listening', resolve));
  t.after(() => endpoint.close());
  const receiver = await startReceiver(t);
  const { server, monitor } = await start(t, {
    authentications: {
      remote: { type: 'http', url: `http://127.0.0.1:${(endpoint.address() as { port: number }).port}/`, test_at_start: false },
    },
    event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url } },
  });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await server.put('/home/a.txt', 'x', { headers: { traceparent } });
  await server.put('/home/b.txt', 'x', { headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01' } });
  const hooks = (await receiver.received(2)).map(({ headers }) => headers.traceparent);
  for (const [first, second] of [traces, hooks]) {
    assert.match(first ?? '', /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    assert.notEqual(first, traceparent);
    assert.equal(second, undefined);
  }
  assert.notEqual(traces[0], hooks[0]);
  assert.equal(await sample(monitor, 'svc_callout_duration_seconds_count', { method: 'remote', outcome: '2xx' }), 2);
});

test('before a stop, /ready gets 503; until shutdown_delay has passed, each request is answered, and ends its connection', async (t) => {
  const { server, monitor } = await start(t, { server: { shutdown_delay: 0.5 } });
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
  assert.doesNotMatch(await server.raw(request, 100), /connection: close/i);
  const startedMs = performance.now();
  const stopped = server.stop();
  await until('the server is not ready', async () => (await monitor.get('/ready', { user: null })).status === 503);
  assert.equal((await monitor.get('/health', { user: null })).status, 200);
  assert.match(await server.raw(request), /^HTTP\/1\.1 302 .*connection: close/is);
  assert.equal(await stopped, true);
  assert.ok(performance.now() - startedMs >= 500);
  await assert.rejects(server.get('/home/'));
  await assert.rejects(monitor.get('/health'));
});

test('a reload starts and ends monitor services; if the port of a monitor is in use, the server does not start', async (t) => {
  const { server, monitor } = await start(t);
  await server.service.reload(
    await testConfig(server.folder, { services: { web: { type: 'http', port: 0 }, second: { type: 'monitor', port: 0 } } }),
  );
  await assert.rejects(monitor.get('/health'));
  const second = new Client(server.service.listening().find(({ uuid }) => uuid === 'second')?.url ?? '');
  assert.equal((await second.get('/ready', { user: null })).status, 200);
  const taken = await testConfig(`${server.folder}/other`, {
    services: { web: { type: 'http', port: 0 }, eyes: { type: 'monitor', port: second.port } },
  });
  await assert.rejects(new Server(taken, { clock: systemClock, log: silentLog }).start(), /monitor service cannot listen .* in use/);
});
