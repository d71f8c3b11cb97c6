import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, createServer as createTcp, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { compileExpression } from '../../src/lib/expression.ts';
import { withQuery } from '../../src/webhooks/http-sender.ts';
import { assertLinear } from '../support/doubling.ts';
import { type Answer, startReceiver, until } from '../support/receiver.ts';
import { startServer, type TestConfig, testConfig } from '../support/server.ts';

const upload = (url: string, options: Record<string, unknown> = {}) => ({ type: 'http', target: '40017', url, ...options });

/** Starts a receiver in this process that answers with raw bytes and keeps the connection. */
async function rawReceiver(t: TestContext, answer: string): Promise<{ url: string; open: () => number }> {
  const sockets = new Set<Socket>();
  const server = createTcp((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.once('data', () => socket.write(answer));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/`, open: () => sockets.size };
}

for (const status of ['101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade', '100 Continue\r\n\r\nHTTP/1.1 099 What']) {
  test(`a reply ${JSON.stringify(status.slice(0, 24))} ends as a failure, and the service can stop`, { timeout: 20_000 }, async (t) => {
    const receiver = await rawReceiver(t, `HTTP/1.1 ${status}\r\n\r\n`);
    const server = await startServer(t, { event_handlers: { crm: upload(receiver.url, { timeout: 1 }) } });
    await server.put('/home/a.txt', 'a');
    await until('event 20174', async () => (await server.eventIds()).includes(20174));
    assert.equal(await server.stop(), true);
  });
}

test('a 205 whose body does not end is a failure after the time-out, and leaves no connection', {
  timeout: 20_000,
}, async (t) => {
  const receiver = await rawReceiver(t, 'HTTP/1.1 205 Reset Content\r\nContent-Type: text/plain\r\n\r\nx');
  const server = await startServer(t, { event_handlers: { crm: upload(receiver.url, { timeout: 0.3 }) } });
  await server.put('/home/a.txt', 'a');
  await until('event 20174', async () => (await server.eventIds()).includes(20174));
  await until('the connection is closed', () => receiver.open() === 0);
});

test('a stop after a reload takes at most shutdown_timeout, even if a request with former options waits for its reply', {
  timeout: 20_000,
}, async (t) => {
  const receiver = await startReceiver(t, { otherwise: { fault: 'hang' } });
  const base: TestConfig = { server: { shutdown_timeout: 0.5 } };
  const server = await startServer(t, { ...base, event_handlers: { crm: upload(receiver.url) } });
  await server.put('/home/a.txt', 'a');
  await receiver.received(1);
  await server.service.reload(
    await testConfig(server.folder, { ...base, event_handlers: { crm: upload(receiver.url, { retry_count: 1 }) } }),
  );
  // The receiver never replies, so a stop that waited for it would last until the test's time is over.
  await server.stop();
});

test('two reloads during one delivery neither repeat nor lose it; a removed handler loses its position', {
  timeout: 20_000,
}, async (t) => {
  const receiver = await startReceiver(t, { script: [{ isHeld: true }] });
  const server = await startServer(t, { event_handlers: { crm: upload(receiver.url) } });
  await server.put('/home/1.txt', 'x');
  await receiver.received(1);
  for (const v of [1, 2])
    await server.service.reload(await testConfig(server.folder, { event_handlers: { crm: upload(receiver.url, { extra_data: { v } }) } }));
  await server.put('/home/2.txt', 'x');
  receiver.release();
  await receiver.received(2);
  await server.service.reload(await testConfig(server.folder, {}));
  await server.put('/home/while-removed.txt', 'x');
  await server.service.reload(await testConfig(server.folder, { event_handlers: { crm: upload(receiver.url) } }));
  await server.put('/home/3.txt', 'x');
  await receiver.received(3);
  assert.deepEqual(
    receiver.events().map(({ data }) => data.path),
    ['/1.txt', '/2.txt', '/3.txt'],
  );
});

test('with waiting uploads, reloads and retries at once, no position is stuck, and no healthy back-end is skipped', {
  timeout: 60_000,
}, async (t) => {
  const flaky: Answer[] = [{}, {}, { status: 500 }];
  const receiver = await startReceiver(t, { script: flaky, repeat: true });
  const config = (v: number): TestConfig => ({
    service: { api_backend_uuid: 'backend', api_partial_success_headers: 'x-partial: yes' },
    event_handlers: {
      backend: {
        type: 'http',
        target: '40017, 40010',
        url: receiver.url,
        concurrency: 2,
        retry_count: 9,
        retry_increase: 0.02,
        fail_after_errors: 0,
        extra_data: { v },
      },
    },
  });
  const server = await startServer(t, config(0));
  await server.get('/home/');
  let isOver = false;
  let partial = 0;
  let number = 0;
  const uploaders = Array.from({ length: 3 }, async () => {
    while (!isOver) {
      const name = ++number;
      if (name % 4 === 0) await server.send('PUT', `/home/folder-${name}/`);
      const reply = await server.put(`/home/${name}.txt`, 'x');
      if (reply.headers['x-partial']) partial++;
    }
  });
  for (let v = 1; v <= 10; v++) {
    await server.service.reload(await testConfig(server.folder, config(v)));
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  isOver = true;
  await Promise.all(uploaders);
  assert.equal(partial, 0, 'no upload skipped the back-end');
  const wanted = (await server.events()).filter(({ id }) => id === '40017' || id === '40010').map(({ uuid }) => uuid);
  await until('each event was delivered successfully', () => {
    const taken = new Set(receiver.events((_, index) => flaky[index % flaky.length]?.status === undefined).map(({ uuid }) => uuid));
    return wanted.every((uuid) => taken.has(uuid));
  });
  const position = () => {
    const saved = JSON.parse(readFileSync(`${server.folder}/data/deliveries/positions.json`, 'utf8')) as {
      handlers: Record<string, string>;
    };
    return Number(saved.handlers.backend?.split(':')[1]);
  };
  const size = () => statSync(`${server.folder}/data/journal/events-00000001.ndjson`).size;
  await until('the position is at the end of the journal', () => position() === size());
  assert.equal(await server.stop(), true);
  assert.equal(position(), size(), 'the position stays at the end');
});

test('the record has the reply to an earlier attempt if the last attempt got none', { timeout: 20_000 }, async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500, body: 'why' }, { fault: 'reset' }] });
  const server = await startServer(t, { event_handlers: { crm: upload(receiver.url, { retry_count: 1 }) } });
  await server.put('/home/a.txt', 'a');
  await until('event 20174', async () => (await server.eventIds()).includes(20174));
  await server.stop();
  const [line = ''] = readFileSync(`${server.folder}/data/deliveries/deliveries-00000001.ndjson`, 'utf8').split('\n');
  assert.equal((JSON.parse(line) as { reply?: { body: string } }).reply?.body, 'why');
});

test('globs with several stars take linear time on a hostile megabyte', async () => {
  const { matches } = compileExpression(`*${'<Status>OK</Status>'}*x*${'a'.repeat(50)}b*`);
  const almost = (count: number) => '<Status>OK</Status'.repeat(count);
  assert.equal(matches(almost(60_000)), false);
  await assertLinear('beginnings', almost, matches, 60_000);
  const manyOfOne = (count: number) => `<status>ok</STATUS>..x..${'a'.repeat(count)}`;
  assert.equal(matches(manyOfOne(1_000_000)), false);
  await assertLinear('a million of one letter', manyOfOne, matches, 1_000_000);
  assert.equal(matches(`<status>ok</STATUS>..X..${'a'.repeat(60)}b`), true);
});

test('an existing query of a URL stays as it is', () => {
  assert.equal(withQuery('http://h/p?sig=%20~(x)', [['a b', 'c&d']]), 'http://h/p?sig=%20~(x)&a%20b=c%26d');
  assert.equal(withQuery('http://h/p#f', [['a', '1']]), 'http://h/p?a=1#f');
});

test('a login is refused if the callout endpoint answers 101', { timeout: 20_000 }, async (t) => {
  const endpoint = createServer()
    .on('upgrade', (_, socket) => socket.destroy())
    .listen(0, '127.0.0.1');
  t.after(() => endpoint.close());
  const raw = await rawReceiver(t, 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  const server = await startServer(t, { authentications: { remote: { type: 'http', url: raw.url, test_at_start: false, timeout: 1 } } });
  assert.equal((await server.get('/home/')).status, 401);
  const socket = connect(server.port, '127.0.0.1');
  socket.destroy();
});
