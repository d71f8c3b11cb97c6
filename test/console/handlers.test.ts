import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { run } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { asOperator, asViewer, type ConsoleClient, consoleService, startConsole, startConsoleProcess } from '../support/console.ts';
import { type Receiver, startReceiver, until } from '../support/receiver.ts';
import { testConfig, writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

interface Shown {
  uuid: string;
  state: string;
  reason: string;
  reason_code: string;
  reason_value: string;
  waiting_events: number;
  more_may_wait: boolean;
  oldest_waiting_seconds: number;
  rate_per_minute: number;
  suspended_urls: { url: string; until: string }[];
  urls: string[];
  is_failing: boolean;
  last_hour: { delivered: number; failed: number }[];
  last_error: string;
  last_fault: { code: string; value: string } | null;
  last_error_time: string | null;
  node: string;
}

interface Tested {
  outcome: string;
  details: string;
  attempts: unknown[];
  event_uuid: string;
}

const handler = (url: string | string[], options: Record<string, unknown> = {}) => ({ type: 'http', target: '40017', url, ...options });
const paths = (receiver: Receiver) => receiver.events().map(({ data }) => data.path);

async function shown(console: ConsoleClient, uuid: string): Promise<Shown> {
  const reply = await console.get('/api/handlers', asViewer);
  assert.equal(reply.status, 200, reply.text);
  return reply.json<{ handlers: Shown[] }>().handlers.find((found) => found.uuid === uuid) as Shown;
}

async function act(console: ConsoleClient, uuid: string, action: string, status = 204): Promise<void> {
  const reply = await console.post(`/api/handlers/${uuid}/${action}`, {}, asOperator);
  assert.equal(reply.status, status, reply.text);
}

const reasons = (events: ServiceEvent[], id: string) => events.filter((event) => event.id === id).map(({ data }) => data.reason);

test('only events that pass the filter of a handler wait for it, and an event names the handlers for which it waits', async (t) => {
  const receiver = await startReceiver(t);
  const { server, console } = await startConsole(t, {
    event_handlers: {
      old: handler(receiver.url),
      all: handler(receiver.url),
      others: handler(receiver.url, { usernames: 'bob' }),
      off: handler(receiver.url, { enabled: false }),
    },
  });
  const contract = await console.contract();
  await act(console, 'old', 'pause');
  await server.put('/home/a.txt', 'x');
  await receiver.received(1);
  const waiting = async () => {
    const { waiting_events, more_may_wait, oldest_waiting_seconds } = await shown(console, 'old');
    return [waiting_events, more_may_wait, oldest_waiting_seconds > 0];
  };
  assert.deepEqual(await waiting(), [1, false, true]);
  for (let index = 0; index < 5; index++) await server.login('alice');
  assert.deepEqual(await waiting(), [1, false, true], 'logins do not wait');
  await server.put('/home/b.txt', 'x');
  await receiver.received(2);
  assert.deepEqual(await waiting(), [2, false, true]);
  const uploaded = (await server.events()).filter(({ id }) => id === '40017')[1];
  const wantedBy = async () => {
    const reply = await console.get(`/api/events/${uploaded?.uuid}`, asViewer);
    contract.check('GET', '/api/events/{uuid}', reply);
    return reply.json<{ wanted_by: unknown[] }>().wanted_by;
  };
  await until('the other handler has passed the event', async () => !JSON.stringify(await wantedBy()).includes('"all","waits":true'));
  assert.deepEqual(await wantedBy(), [
    { handler: 'old', waits: true },
    { handler: 'all', waits: false },
  ]);
  await act(console, 'old', 'resume');
  await receiver.received(4);
  await until('nothing waits', async () => (await shown(console, 'old')).waiting_events === 0);
  assert.deepEqual(await wantedBy(), [
    { handler: 'old', waits: false },
    { handler: 'all', waits: false },
  ]);
  const login = (await server.events()).find(({ id, account }) => id !== '40017' && account.name === 'alice');
  const { wanted_by } = (await console.get(`/api/events/${login?.uuid}`, asViewer)).json<{ wanted_by: unknown[] }>();
  assert.deepEqual(wanted_by, []);
});

test('a stopped handler can be started again; a paused one stays paused over reloads and resumes at its position', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500 }, { status: 500 }] });
  const event_handlers = { crm: handler(receiver.url, { fail_after_errors: 2 }), off: handler(receiver.url, { enabled: false }) };
  const { server, console } = await startConsole(t, { event_handlers, services: { eyes: { type: 'monitor', port: 0 } } });
  const contract = await console.contract();
  for (let index = 0; index < 3; index++) await server.put(`/home/${index}.txt`, 'x');
  await until('the handler stopped', async () => (await shown(console, 'crm')).state === 'stopped');
  const stopped = await shown(console, 'crm');
  assert.deepEqual([stopped.reason, stopped.rate_per_minute, stopped.node], ['2 deliveries failed in a row', 2, 'test']);
  assert.deepEqual([stopped.reason_code, stopped.reason_value], ['failures', '2']);
  assert.ok(stopped.waiting_events >= 1);
  assert.equal((await shown(console, 'off')).state, 'disabled');
  contract.check('GET', '/api/handlers', await console.get('/api/handlers', asViewer));
  contract.check('POST', '/api/handlers/{uuid}/start', await console.post('/api/handlers/crm/start', {}, asOperator));
  await receiver.received(3);
  assert.equal(paths(receiver).at(-1), '/2.txt');
  await until('the handler runs', async () => (await shown(console, 'crm')).state === 'running');
  assert.deepEqual(reasons(await server.events(), '20156').at(-1), 'started again by olga');

  await act(console, 'crm', 'pause');
  await act(console, 'crm', 'pause');
  await server.put('/home/3.txt', 'x');
  await server.put('/home/4.txt', 'x');
  await act(console, 'crm', 'start');
  const services = { web: { type: 'http', port: 0 }, console: await consoleService(), eyes: { type: 'monitor', port: 0 } };
  const changed = { ...event_handlers, crm: handler(receiver.url, { fail_after_errors: 3 }) };
  await server.service.reload(await testConfig(server.folder, { services, event_handlers: changed }));
  const paused = await shown(console, 'crm');
  assert.deepEqual([paused.state, paused.reason], ['paused', 'paused by olga']);
  assert.deepEqual([paused.reason_code, paused.reason_value], ['paused', 'olga']);
  assert.ok(paused.waiting_events >= 2);
  const monitor = new Client(server.service.listening().find(({ uuid }) => uuid === 'eyes')?.url ?? '');
  const { text } = await monitor.get('/metrics', { user: null });
  assert.match(text, /svc_handler_paused\{handler="crm"\} 1/);
  assert.match(text, /svc_handler_running\{handler="crm"\} 0/);
  assert.equal((await monitor.get('/ready', { user: null })).status, 200, 'a paused handler does not make the service unready');
  const failed = await run(t, ['webhook-replay', '--failed', '--dry-run', '--data-folder', join(server.folder, 'data')], {
    cwd: server.folder,
  });
  assert.equal(failed.stdout.includes('/3.txt'), false, 'events that a paused handler will deliver are not replayed');
  assert.equal(receiver.requests.length, 3);
  await act(console, 'crm', 'resume');
  await receiver.received(5);
  assert.deepEqual(paths(receiver).slice(3), ['/3.txt', '/4.txt']);
  const events = await server.events();
  assert.deepEqual(reasons(events, '20157'), ['2 deliveries failed in a row', 'paused by olga']);
  assert.equal(reasons(events, '20156').at(-1), 'resumed by olga');
  assert.deepEqual(
    events.filter(({ id }) => id === '20191').map(({ data }) => `${data.administrator} ${data.action} ${data.target}`),
    ['start', 'pause', 'pause', 'start', 'resume'].map((action) => `olga handler-${action} crm`),
  );
  for (const action of ['start', 'pause', 'resume', 'test', 'lift-suspension']) {
    assert.equal((await console.post(`/api/handlers/crm/${action}`, { url: 'x' }, asViewer)).status, 403, action);
    assert.equal((await console.post(`/api/handlers/unknown/${action}`, { url: 'x' }, asOperator)).status, 404, action);
  }
  await act(console, 'off', 'pause', 404);
});

test('a handler whose deliveries all fail is shown as failing, with their number and the reason, until one succeeds', async (t) => {
  const receiver = await startReceiver(t, { script: Array(4).fill({ status: 500 }) });
  const { server, console } = await startConsole(t, {
    event_handlers: {
      crm: handler(`${receiver.url}/in?key=marker-url`, { fail_after_errors: 0 }),
      quiet: handler(receiver.url, { target: '20002' }),
    },
  });
  const contract = await console.contract();
  const put = async (name: string, requests: number) => {
    await server.put(`/home/${name}`, 'x');
    await receiver.received(requests);
  };
  const counted = async () => {
    const { last_hour, ...rest } = await shown(console, 'crm');
    const sum = (name: 'delivered' | 'failed') => last_hour.reduce((total, part) => total + part[name], 0);
    return { ...rest, delivered: sum('delivered'), failed: sum('failed') };
  };
  for (let index = 0; index < 4; index++) await put(`${index}.txt`, index + 1);
  await until('all failures are counted', async () => (await counted()).failed === 4);
  const failing = await counted();
  assert.deepEqual([failing.state, failing.is_failing, failing.delivered], ['running', true, 0]);
  assert.match(failing.last_error, /500/);
  assert.equal(failing.last_fault, null, 'a status is said by its number');
  assert.ok(Date.parse(failing.last_error_time ?? '') > 0);
  assert.deepEqual(failing.urls, [`${receiver.url}/in?…`]);
  contract.check('GET', '/api/handlers', await console.get('/api/handlers', asViewer));
  contract.check('GET', '/api/overview', await console.get('/api/overview', asViewer));
  await put('5.txt', 5);
  await until('the success is counted', async () => (await counted()).delivered === 1);
  assert.deepEqual([(await counted()).is_failing, (await counted()).failed], [false, 4]);
  const quiet = await shown(console, 'quiet');
  assert.deepEqual([quiet.is_failing, quiet.last_error, quiet.last_error_time], [false, '', null]);
});

test('a test event is delivered to the named handler, even while it is paused, and to no other handler', async (t) => {
  const receiver = await startReceiver(t, { script: [{}, { status: 500, body: 'no' }] });
  const other = await startReceiver(t);
  const event_handlers = {
    crm: { type: 'http', target: '20011', url: receiver.url },
    all: { type: 'http', target: '20011', url: other.url },
  };
  const { server, console } = await startConsole(t, { event_handlers });
  await act(console, 'crm', 'pause');
  const good = await console.post('/api/handlers/crm/test', {}, asOperator);
  (await console.contract()).check('POST', '/api/handlers/{uuid}/test', good);
  assert.equal(good.json<Tested>().outcome, 'delivered');
  const bad = (await console.post('/api/handlers/crm/test', {}, asOperator)).json<Tested>();
  assert.deepEqual([bad.outcome, bad.attempts.length, bad.details], ['failed', 1, '500 Internal Server Error']);
  await receiver.received(2);
  const [sent] = receiver.events();
  assert.deepEqual([sent?.id, sent?.data.administrator, sent?.uuid], ['20011', 'olga', good.json<Tested>().event_uuid]);
  const { deliveries } = (await console.get('/api/deliveries', asViewer)).json<{ deliveries: Record<string, string>[] }>();
  assert.deepEqual(
    deliveries.map(({ outcome, source }) => [outcome, source]),
    [
      ['failed', 'test'],
      ['delivered', 'test'],
    ],
  );
  const opened = (await console.get(`/api/deliveries/${deliveries[0]?.id}`, asViewer)).json<{
    request: { body: { from: string; text: string } };
  }>();
  assert.deepEqual([opened.request.body.from, opened.request.body.text], ['record', receiver.requests[1]?.body.toString('utf8')]);
  await act(console, 'crm', 'resume');
  await server.put('/home/a.txt', 'x');
  assert.deepEqual([receiver.requests.length, other.requests.length], [2, 0]);
});

test('a suspended URL is shown without its query, and used again after the suspension was lifted', async (t) => {
  const first = await startReceiver(t, { script: [{ status: 500 }] });
  const second = await startReceiver(t);
  const { server, console } = await startConsole(t, { event_handlers: { crm: handler([`${first.url}?token=marker-url`, second.url]) } });
  await server.put('/home/a.txt', 'x');
  await second.received(1);
  await until('the URL is suspended', async () => (await shown(console, 'crm')).suspended_urls.length === 1);
  const [suspended] = (await shown(console, 'crm')).suspended_urls;
  assert.equal(suspended?.url, `${first.url}?…`);
  assert.ok(Date.parse(suspended?.until ?? '') > Date.now());
  const lift = (body: unknown) => console.post('/api/handlers/crm/lift-suspension', body, asOperator);
  assert.equal((await lift({ url: second.url })).status, 404);
  assert.equal((await lift({ url: suspended?.url, more: 1 })).status, 400);
  (await console.contract()).check('POST', '/api/handlers/{uuid}/lift-suspension', await lift({ url: suspended?.url }));
  assert.deepEqual((await shown(console, 'crm')).suspended_urls, []);
  await server.put('/home/b.txt', 'x');
  await first.received(2);
  assert.equal(second.requests.length, 1);
});

test('while the handler of an API back-end is paused, uploads do not wait for it; their events are delivered later', async (t) => {
  const receiver = await startReceiver(t);
  const { server, console } = await startConsole(t, {
    service: { api_backend_uuid: 'crm' },
    event_handlers: { crm: handler(receiver.url) },
  });
  await act(console, 'crm', 'pause');
  assert.equal((await server.put('/home/a.txt', 'x')).status, 201);
  assert.equal((await server.eventIds()).filter((id) => id === 40060).length, 1, 'the upload is reported as a partial success');
  assert.equal(receiver.requests.length, 0);
  await act(console, 'crm', 'resume');
  await receiver.received(1);
  assert.equal((await server.put('/home/b.txt', 'x')).status, 201);
  assert.deepEqual(paths(receiver), ['/a.txt', '/b.txt']);
});

test('a pause of a handler survives kill -9', async (t) => {
  const receiver = await startReceiver(t);
  const cwd = temporaryFolder(t);
  mkdirSync(join(cwd, 'home'), { recursive: true });
  const services = { web: { type: 'http', port: 0 }, console: await consoleService() };
  await writeConfig(cwd, { services, event_handlers: { crm: handler(receiver.url) } });
  const first = await startConsoleProcess(t, cwd);
  await first.client.put('/home/1.txt', 'x');
  await receiver.received(1);
  await act(first.console, 'crm', 'pause');
  await first.client.put('/home/2.txt', 'x');
  first.kill();
  const second = await startConsoleProcess(t, cwd);
  assert.equal((await shown(second.console, 'crm')).state, 'paused');
  await second.client.put('/home/3.txt', 'x');
  assert.equal(receiver.requests.length, 1);
  await act(second.console, 'crm', 'resume');
  await receiver.received(3);
  assert.deepEqual(paths(receiver), ['/1.txt', '/2.txt', '/3.txt']);
  second.kill();
});
