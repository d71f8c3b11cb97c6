import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cancelWhileSending } from '../support/cancelled-replay.ts';
import { asOperator, consoleService, startConsole, startConsoleProcess } from '../support/console.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

test('a replay of 500 events is cancelled while it sends: delivered events are recorded, and the rest is not sent', (t) =>
  cancelWhileSending(t, 500));

test('a replay shows its number of requests and handlers, and stops after the chosen number of failures in a row', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const handler = { type: 'http', target: '40017', url: receiver.url, fail_after_errors: 0 };
  const { server, console } = await startConsole(t, { event_handlers: { one: handler, two: { ...handler, batch_size: 4 } } });
  const contract = await console.contract();
  for (let count = 0; count < 6; count++) await server.put(`/home/${count}.txt`, 'x');
  await until('all events were sent to both handlers', async () => {
    const { deliveries } = (await console.get('/api/deliveries?limit=500', asOperator)).json<{ deliveries: { events: unknown[] }[] }>();
    return deliveries.reduce((sum, { events }) => sum + events.length, 0) === 12;
  });
  const replay = async (body: object) => {
    const begun = await console.post('/api/replays', { filter: { id: ['40017'] }, ...body }, asOperator);
    assert.equal(begun.status, 202, begun.text);
    const path = `/api/replays/${begun.json<{ id: string }>().id}`;
    const progress = async () => (await console.get(path, asOperator)).json<Record<string, unknown>>();
    await until('the replay has ended', async () => !['waiting', 'running'].includes(String((await progress()).state)));
    contract.check('GET', '/api/replays/{id}', await console.get(path, asOperator));
    return progress();
  };
  const dry = await replay({ dry_run: true });
  assert.deepEqual([dry.state, dry.total, dry.events, dry.requests, dry.handlers, dry.seconds_left], ['done', 12, 6, 8, 2, null]);
  assert.deepEqual(dry.handler_uuids, ['one', 'two']);
  const before = receiver.requests.length;
  const stopped = await replay({ handlers: ['one'], stop_after_failures: 3 });
  assert.deepEqual([stopped.state, stopped.failed, stopped.requests], ['failed', 3, 6]);
  assert.equal(stopped.details, 'It was stopped: 3 requests failed in a row.');
  assert.ok(receiver.requests.length <= before + 4, 'the rest is not sent');
  const whole = await replay({ handlers: ['one'] });
  assert.deepEqual([whole.state, whole.failed], ['done', 6]);
  const batches = await replay({ handlers: ['two'] });
  assert.deepEqual(
    [batches.total, batches.requests, batches.done, batches.delivered, batches.failed],
    [6, 2, 2, 0, 2],
    'outcomes are those of requests, each with several events',
  );
  for (const wrong of [-1, 10_001, 1.5, '3']) {
    const reply = await console.post('/api/replays', { filter: {}, stop_after_failures: wrong }, asOperator);
    assert.equal(reply.status, 400, String(wrong));
  }
});

test('failures in a row of one handler end only its part of a replay, and successes of another handler do not hide them', async (t) => {
  const [bad, good] = [await startReceiver(t, { otherwise: { status: 500 } }), await startReceiver(t)];
  const handler = { type: 'http', target: '40017', fail_after_errors: 0, concurrency: 1, retry_count: 0 };
  const { server, console } = await startConsole(t, {
    event_handlers: {
      invoices: { ...handler, name: 'Invoices', url: bad.url },
      crm: { ...handler, url: good.url },
      old: { ...handler, name: 'Old system', url: bad.url, batch_size: 2 },
    },
  });
  for (let count = 0; count < 6; count++) await server.put(`/home/${count}.txt`, 'x');
  await until('all events were sent to the handlers', async () => {
    const { deliveries } = (await console.get('/api/deliveries?limit=500', asOperator)).json<{ deliveries: { events: unknown[] }[] }>();
    return deliveries.reduce((sum, { events }) => sum + events.length, 0) === 18;
  });
  const replay = async (body: object) => {
    const begun = await console.post('/api/replays', { filter: { id: ['40017'] }, ...body }, asOperator);
    const find = async () => (await console.get(`/api/replays/${begun.json<{ id: string }>().id}`, asOperator)).json();
    await until('the replay has ended', async () => !['waiting', 'running'].includes(String((await find()).state)));
    const { state, delivered, failed, details } = await find();
    return [state, delivered, failed, details];
  };
  const before = [bad.requests.length, good.requests.length] as const;
  assert.deepEqual(await replay({ stop_after_failures: 2 }), [
    'failed',
    6,
    4,
    'Stopped after 2 failures in a row: Invoices (4 requests not sent), Old system (1 request not sent).',
  ]);
  assert.deepEqual([bad.requests.length - before[0], good.requests.length - before[1]], [4, 6]);
  const rest = await replay({ stop_after_failures: 3 });
  const told = 'Stopped after 3 failures in a row: Invoices (3 requests not sent).';
  assert.deepEqual(rest, ['failed', 6, 6, told], 'all requests to the old system were sent');
  const all = await replay({ stop_after_failures: 2, handlers: ['invoices', 'old'] });
  assert.deepEqual(all, ['failed', 0, 4, 'It was stopped: 2 requests failed in a row.']);
});

test('a dry run tells apart requests that failed and requests that were never sent, because all URLs were suspended', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const second = await startReceiver(t, { otherwise: { status: 500 } });
  const crm = { type: 'http', target: '40017', url: [receiver.url, second.url], fail_after_errors: 0, concurrency: 1 };
  const { server, console } = await startConsole(t, { event_handlers: { crm } });
  for (const name of ['a', 'b', 'c']) await server.put(`/home/${name}.txt`, name);
  const recorded = async () => (await console.get('/api/deliveries', asOperator)).json<{ deliveries: unknown[] }>().deliveries.length;
  await until('all deliveries failed', async () => (await recorded()) === 3);
  const begun = await console.post('/api/replays', { failed: true, dry_run: true }, asOperator);
  const path = `/api/replays/${begun.json<{ id: string }>().id}`;
  await until('the dry run has ended', async () => (await console.get(path, asOperator)).json<{ state: string }>().state === 'done');
  const results = (await console.get(`${path}/results`, asOperator)).text.trim().split('\n');
  assert.deepEqual(
    results.map((line) => (JSON.parse(line) as { was_sent: boolean }).was_sent),
    [true, false, false],
  );
});

test('a replay of failed deliveries leaves out events that were never sent, if the request says so', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const crm = { type: 'http', target: '40017', url: receiver.url, fail_after_errors: 1 };
  const { server, console } = await startConsole(t, { event_handlers: { crm } });
  await server.put('/home/failed.txt', 'x');
  const state = async () => (await console.get('/api/handlers', asOperator)).json<{ handlers: { state: string }[] }>().handlers[0]?.state;
  await until('the handler has stopped', async () => (await state()) === 'stopped');
  for (const name of ['never', 'neither']) await server.put(`/home/${name}.txt`, 'x');
  const total = async (body: object) => {
    const begun = await console.post('/api/replays', { ...body, dry_run: true }, asOperator);
    const path = `/api/replays/${begun.json<{ id: string }>().id}`;
    const progress = async () => (await console.get(path, asOperator)).json<{ state: string; total: number }>();
    await until('the dry run has ended', async () => (await progress()).state === 'done');
    return (await progress()).total;
  };
  assert.equal(await total({ failed: true }), 3);
  assert.equal(await total({ failed: true, never_sent: true }), 3);
  assert.equal(await total({ failed: true, never_sent: false }), 1);
  assert.equal((await console.post('/api/replays', { failed: true, never_sent: 'no' }, asOperator)).status, 400);
});

test('a replay as of the time of an earlier count sends only what was counted then, not what failed or arrived later', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500 }, { status: 500, isHeld: true }], otherwise: { status: 500 } });
  const crm = { type: 'http', target: '40017', url: receiver.url, fail_after_errors: 0 };
  const { server, console } = await startConsole(t, { event_handlers: { crm } });
  const recorded = async () => (await console.get('/api/deliveries', asOperator)).json<{ deliveries: unknown[] }>().deliveries.length;
  const count = async (body: object) => {
    const begun = await console.post('/api/replays', { failed: true, count_only: true, ...body }, asOperator);
    assert.equal(begun.status, 202, begun.text);
    const find = () => console.get(`/api/replays/${begun.json<{ id: string }>().id}`, asOperator);
    await until('the count has ended', async () => (await find()).json<{ state: string }>().state === 'done');
    return (await find()).json<{ total: number; created: string }>();
  };
  await server.put('/home/failed.txt', 'x');
  await until('the first delivery failed', async () => (await recorded()) === 1);
  await server.put('/home/waits.txt', 'x');
  await receiver.received(2);
  const { total, created } = await count({});
  assert.equal(total, 1);
  receiver.release();
  await server.put('/home/later.txt', 'x');
  await until('all deliveries failed', async () => (await recorded()) === 3);
  assert.equal((await count({ as_of: created })).total, 1);
  assert.equal((await count({ as_of: created, never_sent: false })).total, 1);
  assert.equal((await count({})).total, 3);
  assert.equal((await console.post('/api/replays', { failed: true, as_of: 'now' }, asOperator)).status, 400);
});

test('after kill -9, replays are listed with their outcome, and one that was under way is not said to run', async (t) => {
  const receiver = await startReceiver(t, { script: [{}, {}, { isHeld: true }] });
  const cwd = temporaryFolder(t);
  mkdirSync(join(cwd, 'home'), { recursive: true });
  const services = { web: { type: 'http', port: 0 }, console: await consoleService() };
  await writeConfig(cwd, { services, event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url } } });
  const first = await startConsoleProcess(t, cwd);
  await first.client.put('/home/1.txt', 'x');
  await receiver.received(1);
  const begin = async (body: object) =>
    (await first.console.post('/api/replays', { filter: { id: ['40017'] }, ...body }, asOperator)).json<{ id: string }>().id;
  const kept = () => readFileSync(join(cwd, 'data/last-replays.json'), 'utf8');
  const done = await begin({});
  await until('the outcome is on disk', () => existsSync(join(cwd, 'data/last-replays.json')) && kept().includes('"done"'));
  const counted = await begin({ count_only: true, dry_run: true });
  const cut = await begin({});
  await until('the replay is on disk', () => kept().includes(cut));
  first.kill();
  const second = await startConsoleProcess(t, cwd);
  const contract = await second.console.contract();
  const listed = await second.console.get('/api/replays', asOperator);
  contract.check('GET', '/api/replays', listed);
  const { replays } = listed.json<{ replays: Record<string, unknown>[] }>();
  assert.deepEqual(
    replays.map(({ id, state, requests, delivered, details, administrator }) => [id, state, requests, delivered, details, administrator]),
    [
      [cut, 'failed', replays[0]?.requests, 0, 'The service stopped before the replay ended.', 'olga'],
      [done, 'done', 1, 1, '', 'olga'],
    ],
    `without ${counted}, which only counts`,
  );
  const results = await second.console.get(`/api/replays/${done}/results`, asOperator);
  assert.deepEqual([results.status, results.text, replays[1]?.results_left_out], [200, '', 1]);
  second.kill();
});
