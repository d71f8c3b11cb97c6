import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asOperator, asViewer, type ConsoleClient, consoleService, startConsole } from '../support/console.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { testConfig } from '../support/server.ts';

interface Listed {
  id: string;
  time: string;
  handler: string;
  outcome: string;
  source: string;
  events: { id: string; uuid: string }[];
  first_event?: { uuid: string; account: { name: string }; data: { path?: string } };
}

interface Opened extends Listed {
  attempts: { status: number }[];
  request: { method: string; url: string; headers: { from: string; values: Record<string, string> }; body: { from: string; text: string } };
  reply: { body: string };
}

type Named = { id: string };

const handler = (url: string, options: Record<string, unknown> = {}) => ({
  type: 'http',
  target: '40017',
  url,
  fail_after_errors: 0,
  ...options,
});

async function list(console: ConsoleClient, query = ''): Promise<{ deliveries: Listed[]; next: string | null }> {
  const reply = await console.get(`/api/deliveries${query}`, asViewer);
  assert.equal(reply.status, 200, reply.text);
  return reply.json();
}

async function ended(console: ConsoleClient, id: string): Promise<Record<string, unknown>> {
  let job: Record<string, unknown> = {};
  await until('the replay ends', async () => {
    job = (await console.get(`/api/replays/${id}`, asViewer)).json();
    return job.state !== 'waiting' && job.state !== 'running';
  });
  return job;
}

const results = async (console: ConsoleClient, id: string) =>
  (await console.get(`/api/replays/${id}/results`, asViewer)).text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

test('a failed delivery is shown with request and reply, secrets masked, and can be replayed after a repair', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500, body: 'broken <b>', headers: { 'set-cookie': 'marker-reply' } }] });
  const { server, console } = await startConsole(t, {
    event_handlers: {
      crm: handler(`${receiver.url}?token=marker-url`, {
        headers: ['X-Api-Key: marker-key', 'X-Tenant: marker-tenant'],
        username: 'u',
        password: 'marker-password',
        extra_data: { note: 'hello', api_token: 'marker-extra' },
        signing_secret: 'whsec_bWFya2VyLTMtbWFya2VyLTMtbWFya2VyLTM=',
      }),
    },
  });
  const contract = await console.contract();
  await server.put('/home/a.txt', 'x');
  await until('the delivery is recorded', async () => (await list(console)).deliveries.length === 1);
  const { deliveries } = await list(console, '?handler=crm&outcome=failed,discarded&event_id=40017');
  const [failed] = deliveries as [Listed];
  assert.deepEqual([failed.handler, failed.outcome, failed.source], ['crm', 'failed', 'service']);
  assert.deepEqual([failed.first_event?.account.name, failed.first_event?.data.path], ['alice', '/a.txt']);
  const reply = await console.get(`/api/deliveries/${failed.id}`, asViewer);
  contract.check('GET', '/api/deliveries/{id}', reply);
  contract.check('GET', '/api/deliveries', await console.get('/api/deliveries', asViewer));
  const [got] = await receiver.received(1);
  const { request, reply: answer, attempts } = reply.json<Opened>();
  const body = got?.body.toString('utf8').replace('marker-extra', '***');
  assert.deepEqual([request.body.from, request.body.text], ['record', body], 'the record has the bytes of the body, except for its secret');
  assert.match(body ?? '', /"note":"hello","api_token":"\*\*\*"/);
  assert.deepEqual([request.method, request.url, attempts[0]?.status], ['POST', `${receiver.url}?…`, 500]);
  assert.equal(request.headers.values['webhook-id'], failed.events[0]?.uuid);
  assert.deepEqual([request.headers.from, request.headers.values.authorization], ['configuration', 'Basic ***']);
  assert.equal(answer.body, 'broken <b>');
  assert.equal(reply.text.includes('marker-'), false, 'no secret is shown, and no header of the reply that may contain a secret');

  const started = await console.post('/api/replays', { deliveries: [failed.id] }, asOperator);
  contract.check('POST', '/api/replays', started);
  const { id } = started.json<Named>();
  const job = await ended(console, id);
  assert.deepEqual([job.state, job.total, job.delivered, job.failed, job.administrator], ['done', 1, 1, 0, 'olga']);
  contract.check('GET', '/api/replays/{id}', await console.get(`/api/replays/${id}`, asViewer));
  contract.check('GET', '/api/replays', await console.get('/api/replays', asViewer));
  contract.check('GET', '/api/replays/{id}/results', await console.get(`/api/replays/${id}/results`, asViewer));
  const [, again] = await receiver.received(2);
  assert.equal(again?.headers['webhook-id'], got?.headers['webhook-id']);
  const replayed = (await list(console, '?kind=replays')).deliveries;
  assert.deepEqual(
    replayed.map(({ outcome, source, events }) => [outcome, source, events[0]?.uuid]),
    [['delivered', 'replay', failed.events[0]?.uuid]],
  );
  const told = (await server.events()).filter((event) => event.id === '20191');
  assert.deepEqual(
    told.map(({ data }) => [data.action, data.target, data.administrator]),
    [['replay', id, 'olga']],
  );
  const none = await ended(console, (await console.post('/api/replays', { failed: true }, asOperator)).json<Named>().id);
  assert.deepEqual([none.state, none.total], ['done', 0], 'no failed delivery is left');
});

test('deliveries and replays are listed together, page by page, newest first; wrong queries are refused', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500 }, {}, { status: 503, headers: { 'retry-after': '1' } }] });
  const { server, console } = await startConsole(t, {
    event_handlers: { crm: handler(receiver.url), other: handler(receiver.url, { target: '40021' }) },
  });
  for (let index = 0; index < 5; index++) await server.put(`/home/${index}.txt`, 'x');
  await until('all are recorded', async () => (await list(console, '?limit=100')).deliveries.length === 10);
  await ended(console, (await console.post('/api/replays', { filter: { id: ['40017'] }, handlers: ['crm'] }, asOperator)).json<Named>().id);
  const all = (await list(console)).deliveries;
  assert.equal(all.length, 15);
  assert.deepEqual(
    all.map(({ time }) => time),
    all
      .map(({ time }) => time)
      .sort()
      .reverse(),
  );
  const paged: Listed[] = [];
  for (let cursor = ''; ; ) {
    const page = await list(console, `?limit=4${cursor}`);
    paged.push(...page.deliveries);
    if (page.next === null) break;
    cursor = `&cursor=${encodeURIComponent(page.next)}`;
  }
  assert.deepEqual(paged, all);
  for (const { events, first_event } of all) assert.equal(first_event?.uuid, events[0]?.uuid);
  const counted = async (query: string) => (await list(console, query)).deliveries.length;
  const uuid = all[0]?.events[0]?.uuid ?? '';
  assert.equal(await counted('?kind=deliveries&handler=crm'), 5);
  assert.equal(await counted('?outcome=delivered&kind=deliveries'), 8);
  assert.equal(await counted(`?event_uuid=${uuid}&handler=crm`), 2);
  assert.equal(await counted('?since=2100-01-01T00:00:00Z'), 0);
  assert.equal(await counted('?until=2001-01-01T00:00:00Z'), 0);
  assert.equal(await counted(`?since=${all.at(-1)?.time}`), 15);
  for (const query of ['?cursor=x', '?limit=0', '?limit=501', '?outcome=good', '?since=yesterday', '?handlers=crm', '?kind=d'])
    assert.equal((await console.get(`/api/deliveries${query}`, asViewer)).status, 400, query);
  for (const id of ['x', 'd1-1', 'd999-0', 'd1-999999999', '..%2f..', 'r7-0'])
    assert.equal((await console.get(`/api/deliveries/${id}`, asViewer)).status, 404, id);
});

test('a dry run shows each request as it would be sent now, and its differences from the recorded one; nothing is sent', async (t) => {
  const receiver = await startReceiver(t);
  const config = { event_handlers: { crm: handler(receiver.url, { extra_data: { greeting: 'hello' } }) } };
  const { server, console } = await startConsole(t, config);
  await server.put('/home/a.txt', 'x');
  await server.put('/home/b.txt', 'x');
  await until('both are recorded', async () => (await list(console)).deliveries.length === 2);
  const dry = async (body: Record<string, unknown>) => {
    const { id } = (await console.post('/api/replays', { ...body, dry_run: true }, asOperator)).json<Named>();
    const job = await ended(console, id);
    return { job, lines: await results(console, id) };
  };
  const same = await dry({ filter: { id: ['40017'] } });
  assert.deepEqual([same.job.state, same.job.total, same.job.delivered, same.lines.length], ['done', 2, 0, 2]);
  assert.deepEqual(
    same.lines.map(({ differences }) => differences),
    [[], []],
  );
  assert.equal(JSON.parse(same.lines[0].request.body).greeting, 'hello');
  assert.equal((await dry({ filter: { id: ['40017'], account: ['alice,bob'] } })).job.total, 0, 'a name may have commas');
  const services = { web: { type: 'http', port: 0 }, console: await consoleService() };
  const event_handlers = { crm: handler(receiver.url, { extra_data: { greeting: 'goodbye' } }) };
  await server.service.reload(await testConfig(server.folder, { services, event_handlers }));
  const changed = await dry({ events: [same.lines[0].events[0].uuid] });
  assert.equal(changed.lines.length, 1);
  assert.deepEqual(changed.lines[0].differences, ['-   "greeting": "hello"', '+   "greeting": "goodbye"']);
  assert.equal(changed.lines[0].delivery, (await list(console)).deliveries.at(-1)?.id);
  assert.equal(receiver.requests.length, 2, 'nothing was sent');
  assert.equal((await server.events()).filter(({ id }) => id === '20191').length, 0);
});

test('replays are refused for other URLs, unknown members, viewers and other origins; a running replay can be cancelled', async (t) => {
  const receiver = await startReceiver(t, { script: [{}, {}, {}], otherwise: { fault: 'hang' } });
  const { server, console } = await startConsole(t, { event_handlers: { crm: handler(receiver.url) } });
  for (let index = 0; index < 3; index++) await server.put(`/home/${index}.txt`, 'x');
  await until('all are recorded', async () => (await list(console)).deliveries.length === 3);
  const post = async (body: unknown, options = {}) => (await console.post('/api/replays', body, { ...asOperator, ...options })).status;
  for (const body of [
    { failed: true, url: 'http://127.0.0.1:1/' },
    { failed: true, handlers: ['http://127.0.0.1:1/'] },
    { failed: true, handlers: ['__proto__'] },
    { filter: { everything: true } },
    { filter: [] },
    { filter: { id: ['1; x'] } },
    { deliveries: Array.from({ length: 10_001 }, () => 'd1-0') },
    { deliveries: [7] },
    { deliveries: ['d1-0'], failed: true },
    { failed: 'yes' },
    {},
    [],
  ])
    assert.equal(await post(body), 400, JSON.stringify(body).slice(0, 100));
  assert.equal(await post({ failed: true, pad: 'x'.repeat(2 * 1024 * 1024) }), 413);
  assert.equal(await post({ failed: true }, asViewer), 403);
  assert.equal(await post({ failed: true }, { headers: { origin: 'https://evil.example' } }), 403);
  assert.equal(receiver.requests.length, 3);

  const { id } = (await console.post('/api/replays', { filter: { id: ['40017'] } }, asOperator)).json<Named>();
  await receiver.received(4);
  const running = (await console.get(`/api/replays/${id}`, asViewer)).json();
  assert.deepEqual([running.state, running.total, running.done], ['running', 3, 0]);
  assert.equal((await console.send('DELETE', `/api/replays/${id}`, asViewer)).status, 403);
  const contract = await console.contract();
  contract.check('DELETE', '/api/replays/{id}', await console.send('DELETE', `/api/replays/${id}`, asOperator));
  const job = await ended(console, id);
  assert.deepEqual([job.state, job.done], ['cancelled', 0]);
  assert.equal(receiver.requests.length, 4, 'the next delivery was not begun');
  for (const method of ['GET', 'DELETE']) assert.equal((await console.send(method, '/api/replays/unknown', asOperator)).status, 404);
  const statuses = new Set<number>();
  for (let index = 0; index < 30; index++) statuses.add(await post({ filter: { id: ['40017'] } }));
  assert.deepEqual([...statuses].sort(), [202, 429], 'the number of waiting replays is limited');
});

test('a replay that only counts sends nothing, has no results, and is neither listed nor recorded when it is cancelled', async (t) => {
  const receiver = await startReceiver(t);
  const { server, console } = await startConsole(t, { event_handlers: { crm: handler(receiver.url, { batch_size: 2 }) } });
  for (let index = 0; index < 3; index++) await server.put(`/home/${index}.txt`, 'x');
  await until('all are recorded', async () => (await list(console)).deliveries.flatMap(({ events }) => events).length === 3);
  const before = receiver.requests.length;
  const start = async (body: object) => (await console.post('/api/replays', body, asOperator)).json<Named>().id;
  const count = await start({ filter: { id: ['40017'] }, count_only: true });
  const job = await ended(console, count);
  assert.deepEqual([job.state, job.total, job.requests, job.handlers, job.dry_run, job.count_only], ['done', 3, 2, 1, true, true]);
  assert.deepEqual(await results(console, count), []);
  const dry = await start({ filter: { id: ['40017'] }, dry_run: true });
  await ended(console, dry);
  const listed = (await console.get('/api/replays', asViewer)).json<{ replays: Named[] }>().replays;
  assert.deepEqual(
    listed.map(({ id }) => id),
    [dry],
  );
  for (const id of [count, dry]) assert.equal((await console.send('DELETE', `/api/replays/${id}`, asOperator)).status, 204);
  assert.equal(
    (await server.events()).filter(({ id }) => id === '20191').length,
    0,
    'the end of a count or of a dry run is not recorded as an action',
  );
  for (let index = 0; index < 25; index++) await ended(console, await start({ filter: { id: ['40017'] }, count_only: true }));
  assert.equal((await console.get(`/api/replays/${dry}`, asViewer)).status, 200, 'counts push no replay out of memory');
  assert.equal((await console.get(`/api/replays/${count}`, asViewer)).status, 404);
  assert.equal(receiver.requests.length, before);
});
