import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventCatalogue } from '../../src/events/catalogue.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { listSegments } from '../../src/events/journal/segments.ts';
import { asOperator, asViewer, startConsole } from '../support/console.ts';
import { EventReader } from '../support/event-reader.ts';
import { startReceiver } from '../support/receiver.ts';
import { testUser } from '../support/secrets.ts';

interface Page {
  events: ServiceEvent[];
  begin: string;
  next: string | null;
  searched: { files: number; bytes: number };
  is_complete: boolean;
}

const hostile = ['<img src=x onerror=alert(1)>.txt', 'a\u009b31mred.txt', 'two\u2028lines.txt', 'a, b.txt', '.*', '\u202egnp.exe'];

async function startFiles(t: TestContext) {
  const { server, console } = await startConsole(t);
  for (const name of hostile) await server.put(`/home/${encodeURIComponent(name)}`, 'x', { user: testUser });
  const search = async (query: Record<string, string> | [string, string][]) => {
    const reply = await console.get(`/api/events?${new URLSearchParams(query)}`, asViewer);
    assert.equal(reply.status, 200, reply.text);
    return reply.json<Page>();
  };
  const paths = async (query: Record<string, string> | [string, string][]) => (await search(query)).events.map(({ data }) => data.path);
  return { server, console, search, paths };
}

test('events are found newest first, page by page, as JSON and as a stream; hostile names are searched literally', async (t) => {
  const { console, search, paths } = await startFiles(t);
  const uploaded = hostile.map((name) => `/${name}`).toReversed();
  assert.deepEqual(await paths({ id: '40017' }), uploaded);
  for (const name of hostile) {
    assert.deepEqual(await paths({ id: '40017', path: `/${name}` }), [`/${name}`]);
    assert.deepEqual(await paths({ id: '40017', text: `"/${name}"` }), [`/${name}`], 'the text is searched literally, not as a pattern');
  }
  assert.deepEqual(await paths({ id: '40017,40022', account: 'alice' }), uploaded);
  assert.deepEqual(await paths({ account: 'alice,bob' }), [], 'a name may have commas');
  assert.deepEqual(
    await paths([
      ['id', '40017'],
      ['account', 'bob'],
      ['account', 'alice'],
    ]),
    uploaded,
  );
  const found: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page = await search({ id: '40017', limit: '4', ...(cursor !== '' && { cursor }) });
    assert.ok(page.events.length <= 4 && page.is_complete && page.searched.files === 1);
    found.push(...page.events.map(({ data }) => data.path));
    cursor = page.next;
  }
  assert.deepEqual(found, uploaded);
  const stream = await console.get('/api/events?group=operation-write&id=40017', {
    ...asViewer,
    headers: { accept: 'application/x-ndjson' },
  });
  assert.equal(stream.headers['content-type'], 'application/x-ndjson');
  const lines = stream.text.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as ServiceEvent).data.path),
    uploaded,
  );
  const contract = await console.contract();
  contract.check('GET', '/api/events', await console.get('/api/events', asViewer));
  const { uuid, data, timestamp } = (await search({ id: '40017', limit: '1' })).events[0] as ServiceEvent;
  const at = new Date(Number(timestamp.timestamp) * 1000).toISOString();
  const opened = await console.get(`/api/events/${uuid}?${new URLSearchParams({ at })}`, asViewer);
  contract.check('GET', '/api/events/{uuid}', opened);
  const { event, deliveries, request_events } = opened.json<{
    event: ServiceEvent;
    deliveries: unknown[];
    request_events: ServiceEvent[];
  }>();
  assert.deepEqual([event.uuid, deliveries], [uuid, []]);
  assert.ok(request_events.some(({ id }) => id === '40021'));
  assert.ok(request_events.every((other) => other.data.request_id === data.request_id && other.uuid !== uuid));
  contract.check('GET', '/api/events/{uuid}', await console.get('/api/events/nobody', asViewer));
});

test('a refused login of an administrator is a failure, and a pause of a handler is none', async (t) => {
  const receiver = await startReceiver(t);
  const { console } = await startConsole(t, { event_handlers: { crm: { type: 'http', url: receiver.url } } });
  for (const password of ['wrong-Word-1', 'wrong-Word-2']) await console.post('/api/login', { username: 'olga', password });
  assert.equal((await console.send('POST', '/api/handlers/crm/pause', asOperator)).status, 204);
  const found = async (status: string) => {
    const { events } = (await console.get(`/api/events?id=20190,20157&status=${status}`, asViewer)).json<Page>();
    return events.map(({ data }) => data.outcome ?? data.reason);
  };
  assert.deepEqual(await found('failure'), ['refused', 'refused']);
  assert.deepEqual(await found('informational'), ['paused by olga']);
  assert.deepEqual(await found('success'), []);
  const count = async (query: Record<string, string>) =>
    (await console.get(`/api/events?${new URLSearchParams(query)}`, asViewer)).json<Page>().events.length;
  const message = 'The login of the administrator "somebody" was refused.';
  assert.equal(await count({ message }), 2, 'messages may differ in quoted names');
  assert.equal(await count({ message: message.replace('refused', 'refuse') }), 0);
  assert.equal(await count({ component: 'crm', id: '20157' }), 1);
  assert.equal(await count({ component: 'erp' }), 0);
  const histogram = await console.get('/api/events/histogram?id=20190,20157&buckets=1', asViewer);
  assert.equal(histogram.json<{ counts: { failures: number }[] }>().counts[0]?.failures, 2);
  const { errors } = (await console.get('/api/overview', asViewer)).json<{ errors: { id: string; count: number }[] }>();
  assert.deepEqual(
    errors.map(({ id, count }) => [id, count]),
    [['20190', 2]],
  );
});

test('wrong queries are refused; a cursor to any position does no harm', async (t) => {
  const { console, search } = await startFiles(t);
  const contract = await console.contract();
  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=1e9',
    'limit=-1',
    'cursor=x',
    'cursor=1',
    'since=yesterday',
    'id=x',
    'group=nobody',
    'acount=a',
    'text=a&text=b',
  ]) {
    const reply = await console.get(`/api/events?${query}`, asViewer);
    assert.equal(reply.status, 400, query);
    contract.check('GET', '/api/events', reply);
  }
  const all = (await search({ id: '40017', limit: '1000' })).events.map(({ uuid }) => uuid);
  for (const cursor of ['0:0', '1:1', '1:700', '999999999999999:999999999999999', '00000001:5']) {
    const { events } = await search({ id: '40017', cursor, limit: '1000' });
    assert.ok(
      events.every(({ uuid }) => all.includes(uuid)),
      cursor,
    );
  }
  assert.equal((await console.get('/api/events')).status, 401);
  assert.equal((await console.get('/api/events/live')).status, 401);
});

test('events are selected by result, excluded by kind, and counted over time', async (t) => {
  const { server, console, search } = await startFiles(t);
  for (let count = 0; count < 3; count++) await server.get('/home/nothing');
  const ids = async (query: Record<string, string>) => new Set((await search(query)).events.map(({ id }) => id));
  assert.deepEqual(await ids({ status: 'failure', group: 'http' }), new Set(['40035']), 'both conditions apply');
  assert.ok((await ids({ status: 'success' })).has('40017'));
  const without = await ids({ group: 'operation-write', not_id: '40021' });
  assert.ok(without.has('40017') && !without.has('40021'));
  const contract = await console.contract();
  const count = async (query: Record<string, string>) => {
    const reply = await console.get(`/api/events/histogram?${new URLSearchParams(query)}`, asViewer);
    contract.check('GET', '/api/events/histogram', reply);
    assert.equal(reply.status, 200, reply.text);
    return reply.json<{ since: string; until: string; counts: { events: number; failures: number }[]; counted_since: string }>();
  };
  const uploads = await count({ id: '40017', buckets: '24' });
  assert.equal(uploads.counts.length, 24);
  assert.deepEqual(uploads.counts.at(-1), { events: hostile.length, failures: 0 });
  assert.equal(
    uploads.counts.reduce((sum, { events }) => sum + events, 0),
    hostile.length,
  );
  assert.equal(uploads.counted_since, uploads.since);
  const whole = await count({ id: '40017', buckets: '3', whole: '1' });
  assert.equal(
    whole.since,
    new Date(Math.floor(Number((await search({ limit: '1000' })).events.at(-1)?.timestamp.timestamp) * 1000)).toISOString(),
  );
  assert.equal(
    whole.counts.reduce((sum, { events }) => sum + events, 0),
    hostile.length,
  );
  assert.deepEqual((await count({ status: 'failure', group: 'http', buckets: '1' })).counts, [{ events: 3, failures: 3 }]);
  const [newest] = (await search({ id: '40017', limit: '1' })).events;
  const at = Number(newest?.timestamp.timestamp) * 1000;
  const range = { since: new Date(at - 1000).toISOString(), until: new Date(Math.floor(at)).toISOString(), buckets: '2' };
  const before = (await count({ ...range, id: '40017' })).counts.reduce((sum, { events }) => sum + events, 0);
  assert.ok(before < hostile.length, 'the end of the time range is excluded');
  for (const query of [
    'status=nobody',
    'not_id=x',
    'buckets=0',
    'buckets=201',
    'whole=0',
    'since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z',
  ]) {
    const reply = await console.get(`/api/events/histogram?${query}`, asViewer);
    assert.equal(reply.status, 400, query);
    contract.check('GET', '/api/events/histogram', reply);
  }
  const kinds = await console.get('/api/events/catalogue', asViewer);
  contract.check('GET', '/api/events/catalogue', kinds);
  const { events } = kinds.json<{ events: { id: string; name: string; severity: string; is_routine: boolean }[] }>();
  const kind = (id: string) => events.find((one) => one.id === id);
  assert.deepEqual([kind('40017')?.name, kind('40017')?.severity, kind('30068')?.name], ['file uploaded', 'success', 'SFTP file uploaded']);
  assert.deepEqual(
    ['20174', '40022', '40021'].map((id) => kind(id)?.severity),
    ['error', 'warning', 'information'],
  );
  assert.deepEqual(
    events
      .filter((one) => one.is_routine)
      .map(({ id }) => id)
      .sort(),
    ['20111', '20189', '20201'],
  );
  for (const path of ['histogram', 'catalogue']) assert.equal((await console.get(`/api/events/${path}`)).status, 401);
});

test('the live tail sends the selected events, and resumes at Last-Event-ID', async (t) => {
  const { server, console, search } = await startFiles(t);
  const headers = await console.session();
  const listen = async (more: Record<string, string> = {}, query = '') => {
    const reader = await EventReader.open(`${console.url}/api/events/live?id=40017${query}`, { ...headers, ...more });
    t.after(() => reader.close());
    return reader;
  };
  const reader = await listen();
  await server.put('/home/live%E2%80%A8one', 'x', { user: testUser });
  assert.equal(((await reader.next('message')) as ServiceEvent).data.path, '/live\u2028one');
  const again = await listen({ 'last-event-id': '00000001:0' });
  assert.equal(((await again.next('message')) as ServiceEvent).data.path, `/${hostile[0]}`);
  assert.equal(
    ((await again.nextWhere('message', (event) => (event as ServiceEvent).data.path === '/live\u2028one')) as ServiceEvent).id,
    '40017',
  );
  const { begin } = await search({});
  await server.put('/home/later', 'x', { user: testUser });
  for (const after of [await listen({}, `&last_event_id=${begin}`), await listen({ 'last-event-id': begin }, '&last_event_id=1:0')])
    assert.equal(((await after.next('message')) as ServiceEvent).data.path, '/later');
  assert.equal((await console.get('/api/events/live?last_event_id=nonsense', { headers })).status, 400);
  for (const id of ['nonsense', '99999:99999']) {
    const other = await listen({ 'last-event-id': id });
    const put = server.put(`/home/${id.length}`, 'x', { user: testUser });
    assert.equal(((await other.next('message')) as ServiceEvent).data.path, `/${id.length}`);
    await put;
  }
});

test('white space that was written into the journal by hand breaks no message of a live tail', async (t) => {
  const { server, console, search } = await startFiles(t);
  const { uuid } = (await search({ id: '40017', limit: '1' })).events[0] as ServiceEvent;
  const [{ path } = { path: '' }] = listSegments(journalFolder(join(server.folder, 'data')));
  const lines = readFileSync(path, 'utf8').split('\n');
  const at = lines.findIndex((line) => line.includes(uuid));
  lines[at] = (lines[at] as string).replace(/"timestamp":"(\d+\.\d*)\d\d"/, '"timestamp":"$1"\r\r');
  writeFileSync(path, lines.join('\n'), { flag: 'r+' });
  const headers = { ...(await console.session()), 'last-event-id': '1:0' };
  const reader = await EventReader.open(`${console.url}/api/events/live?id=40017`, headers);
  t.after(() => reader.close());
  await reader.nextWhere('message', (event) => (event as ServiceEvent).uuid === uuid);
});

test('every kind of event has one name of its own in each language of the page', () => {
  const folder = join(process.env.SVC_ROOT ?? process.cwd(), 'src/web/texts/events');
  for (const language of ['de', 'es', 'fr']) {
    const names: Record<string, string> = JSON.parse(readFileSync(join(folder, `${language}.json`), 'utf8'));
    assert.deepEqual(Object.keys(names).sort(), eventCatalogue.map(({ id }) => String(id)).sort(), language);
    assert.equal(new Set(Object.values(names)).size, eventCatalogue.length, language);
  }
});

test('messages of events, reasons and findings are translated with all their places, and svc writes every translated reason and finding', () => {
  const root = process.env.SVC_ROOT ?? process.cwd();
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const source = files.map((name) => readFileSync(join(root, 'src', name), 'utf8'));
  const members = (text = '') => (text.match(/\{\w+\}/g) ?? []).sort();
  for (const language of ['de', 'es', 'fr']) {
    const read = (folder: string): Record<string, string> =>
      JSON.parse(readFileSync(join(root, 'src/web/texts', folder, `${language}.json`), 'utf8'));
    const texts = read('messages');
    for (const { id, meaning } of eventCatalogue) assert.deepEqual(members(texts[id]), members(meaning), `${language}, ${id}`);
    const phrases = { ...texts, ...read('findings') };
    for (const [reason, translated] of Object.entries(phrases).filter(([key]) => !/^\d+$/.test(key))) {
      assert.deepEqual(members(translated), members(reason), `${language}, ${reason}`);
      const words = reason.split(/\{\w+\}/).filter(Boolean);
      assert.ok(
        source.some((code) => words.every((part) => code.includes(part))),
        `${language}, ${reason}`,
      );
    }
  }
});
