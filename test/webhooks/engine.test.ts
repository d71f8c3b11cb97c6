import assert from 'node:assert/strict';
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog, silentLog } from '../../src/lib/log.ts';
import { Server } from '../../src/server/server.ts';
import { readDeliveries } from '../../src/webhooks/records/delivery-log.ts';
import type { DeliveryRecord } from '../../src/webhooks/records/delivery-record.ts';
import { Client } from '../support/client.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer, type TestConfig, testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const handler = (url: string, options: Record<string, unknown> = {}) => ({ type: 'http', target: '40017', url, ...options });
const paths = (events: ServiceEvent[]) => events.map(({ data }) => data.path);

async function records(folder: string): Promise<DeliveryRecord[]> {
  const all: DeliveryRecord[] = [];
  for await (const { record } of readDeliveries(join(folder, 'data', 'deliveries'), 'deliveries', undefined, assert.fail)) all.push(record);
  return all;
}

/** Starts a service on a folder. A later service on this folder continues with its data. */
async function startOn(
  t: TestContext,
  folder: string,
  config: TestConfig,
  lines: string[] = [],
): Promise<{ service: Server; client: Client }> {
  const log = createLog({ level: 'info', format: 'json', clock: systemClock, write: (line) => lines.push(line) });
  const service = new Server(await testConfig(folder, config), { clock: systemClock, log });
  await service.start();
  t.after(() => service.stop());
  return { service, client: new Client(service.listening()[0]?.url ?? '') };
}

test('a batch has the events that wait, and never waits for more', async (t) => {
  const receiver = await startReceiver(t, { script: [{ isHeld: true }] });
  const server = await startServer(t, { event_handlers: { crm: handler(receiver.url, { batch_size: 5 }) } });
  await server.put('/home/0.txt', '0');
  await receiver.received(1);
  for (let index = 1; index <= 7; index++) await server.put(`/home/${index}.txt`, 'x');
  receiver.release();
  const requests = await receiver.received(3);
  const sizes = requests.map(({ body }) => (JSON.parse(body.toString('utf8')) as { events: unknown[] }).events.length);
  assert.deepEqual(sizes, [1, 5, 2]);
  assert.deepEqual(
    paths(receiver.events()),
    [0, 1, 2, 3, 4, 5, 6, 7].map((index) => `/${index}.txt`),
  );
  await until('eight events 20189', async () => (await server.eventIds()).filter((id) => id === 20189).length === 8);
});

test('custom bodies and extra_data with event variables have one event per request, with any batch size', async (t) => {
  const receiver = await startReceiver(t, { script: [{ delayMs: 200 }] });
  const server = await startServer(t, {
    event_handlers: {
      chat: handler(receiver.url, { batch_size: 50, http_content_type: 'custom', extra_data: '{data.file_name}' }),
    },
  });
  for (let index = 0; index < 4; index++) await server.put(`/home/${index}.txt`, 'x');
  const requests = await receiver.received(4);
  assert.deepEqual(
    requests.map(({ body }) => body.toString('utf8')),
    ['0.txt', '1.txt', '2.txt', '3.txt'],
  );
});

test('concurrency limits the number of simultaneous requests', async (t) => {
  const [receiver, other] = [
    await startReceiver(t, { script: Array.from({ length: 3 }, () => ({ isHeld: true })) }),
    await startReceiver(t),
  ];
  const server = await startServer(t, { event_handlers: { crm: handler(receiver.url, { concurrency: 3 }), other: handler(other.url) } });
  await server.get('/home/');
  await Promise.all(Array.from({ length: 7 }, (_, index) => server.put(`/home/${index}.txt`, 'x')));
  await receiver.received(3);
  await other.received(7);
  assert.equal(receiver.requests.length, 3, 'the fourth delivery waits');
  receiver.release();
  await receiver.received(7);
  assert.equal(new Set(paths(receiver.events())).size, 7);
});

test('a hanging receiver delays neither requests nor other handlers', async (t) => {
  const dead = await startReceiver(t, { otherwise: { fault: 'hang' } });
  const healthy = await startReceiver(t);
  const server = await startServer(t, {
    server: { shutdown_timeout: 0.2 },
    event_handlers: { dead: handler(dead.url), healthy: handler(healthy.url) },
  });
  for (let index = 0; index < 20; index++) await server.put(`/home/${index}.txt`, 'x');
  await healthy.received(20);
  await dead.received(1);
  assert.equal(dead.requests.length, 1);
  assert.equal(await server.stop(), false, 'running work is aborted after shutdown_timeout');
});

test('after a restart each handler continues from its position; after a clean stop, no event is lost or repeated', async (t) => {
  const folder = temporaryFolder(t);
  const receiver = await startReceiver(t);
  const down = { event_handlers: { crm: handler('http://127.0.0.1:1/', { enabled: false }) } };
  const config = { event_handlers: { crm: handler(receiver.url), late: handler(receiver.url, { enabled: false }) } };
  const first = await startOn(t, folder, config);
  await first.client.put('/home/1.txt', 'x');
  await receiver.received(1);
  await first.service.stop();
  const second = await startOn(t, folder, down);
  await second.client.put('/home/2.txt', 'x');
  await second.client.put('/home/3.txt', 'x');
  await second.service.stop();
  const third = await startOn(t, folder, config);
  await receiver.received(3);
  await third.client.put('/home/4.txt', 'x');
  await receiver.received(4);
  await third.service.stop();
  assert.deepEqual(paths(receiver.events()), ['/1.txt', '/2.txt', '/3.txt', '/4.txt'], 'a disabled handler keeps its position');
  const resumes = (await records(folder)).map(({ resume }) => Number(resume?.split(':')[1]));
  assert.deepEqual(
    resumes,
    [...resumes].sort((a, b) => a - b),
  );
});

test('an event that was being delivered when the service stopped is sent again after the next start', async (t) => {
  const folder = temporaryFolder(t);
  const receiver = await startReceiver(t, { script: [{ fault: 'hang' }] });
  const config = { server: { shutdown_timeout: 0.1 }, event_handlers: { crm: handler(receiver.url) } };
  const first = await startOn(t, folder, config);
  await first.client.put('/home/1.txt', 'x');
  await first.client.put('/home/2.txt', 'x');
  await receiver.received(1);
  await first.service.stop();
  const second = await startOn(t, folder, config);
  await receiver.received(3);
  await second.service.stop();
  assert.deepEqual(paths(receiver.events()), ['/1.txt', '/1.txt', '/2.txt']);
});

test('a stopping service still delivers the events in the journal, including the event of its stop', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { delayMs: 20 } });
  const server = await startServer(t, { event_handlers: { log: { type: 'http', target: '!20189', url: receiver.url } } });
  await server.put('/home/1.txt', 'x');
  assert.equal(await server.stop(), true);
  const ids = receiver.events().map(({ id }) => id);
  assert.equal(ids[0], '20001', 'a new handler gets the event of the start');
  assert.equal(ids.at(-1), '20078');
  assert.ok(ids.includes('40017') && ids.includes('20002'));
});

test('a handler that a reload adds gets later events only; a handler that stays continues undisturbed', async (t) => {
  const stays = await startReceiver(t, { otherwise: { delayMs: 100 } });
  const added = await startReceiver(t);
  const server = await startServer(t, { event_handlers: { stays: handler(stays.url) } });
  for (let index = 0; index < 3; index++) await server.put(`/home/${index}.txt`, 'x');
  await server.service.reload(
    await testConfig(server.folder, {
      event_handlers: { stays: handler(stays.url), added: { type: 'http', url: added.url, groups: 'operation-write' } },
    }),
  );
  await server.put('/home/3.txt', 'x');
  await stays.received(4);
  await until('the added handler has the last event', () => paths(added.events()).includes('/3.txt'));
  assert.deepEqual(paths(stays.events()), ['/0.txt', '/1.txt', '/2.txt', '/3.txt']);
  assert.equal(paths(added.events()).includes('/2.txt'), false);
});

test('a handler whose options a reload changes continues at its position, without a lost or repeated event', async (t) => {
  const receiver = await startReceiver(t, { script: [{}, { isHeld: true }] });
  const server = await startServer(t, { event_handlers: { crm: handler(receiver.url) } });
  for (let index = 0; index < 6; index++) await server.put(`/home/${index}.txt`, 'x');
  await receiver.received(2);
  await server.service.reload(
    await testConfig(server.folder, { event_handlers: { crm: handler(receiver.url, { extra_data: { v: 2 } }) } }),
  );
  receiver.release();
  await receiver.received(6);
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.deepEqual(
    paths(receiver.events()),
    [0, 1, 2, 3, 4, 5].map((index) => `/${index}.txt`),
  );
  const bodies = receiver.requests.map(({ body }) => 'v' in (JSON.parse(body.toString('utf8')) as object));
  assert.deepEqual(bodies, [...bodies].sort(), 'the first bodies lack the new member, and the later ones have it');
  assert.equal(bodies.at(-1), true);
});

test('user_groups filters work after a restart, although the event does not contain the group', async (t) => {
  const folder = temporaryFolder(t);
  const receiver = await startReceiver(t);
  const groups = { STAFF: { home_folder_path: join(folder, 'staff'), create_home_folder: true } };
  const { password } = (await testConfig(folder)).config.accounts.alice as { password: string };
  const base = { groups, group: { create_home_folder: true }, accounts: { bob: { password, group: 'STAFF' } } };
  const first = await startOn(t, folder, base);
  await first.client.put('/home/a.txt', 'x');
  await first.client.put('/home/b.txt', 'x', { user: `bob:${testPassword}` });
  await first.client.put('/home/c.txt', 'x');
  await first.service.stop();
  const crm = { type: 'http', target: '40017', user_groups: 'STAFF', url: receiver.url };
  writeFileSync(join(folder, 'data/deliveries/positions.json'), JSON.stringify({ handlers: { crm: '00000001:0' } }));
  const second = await startOn(t, folder, { ...base, event_handlers: { crm } });
  await second.client.put('/home/d.txt', 'x', { user: `bob:${testPassword}` });
  await receiver.received(2);
  await second.service.stop();
  assert.deepEqual(paths(receiver.events()), ['/b.txt', '/d.txt']);
});

test('the log names handler, IDs and UUIDs of events that were not delivered', async (t) => {
  const receiver = await startReceiver(t, { script: [{ delayMs: 300 }], otherwise: { status: 418, reason: 'Teapot' } });
  const lines: string[] = [];
  const crm = { type: 'http', url: receiver.url, target: '40017, 40021', batch_size: 10, fail_after_errors: 0 };
  const { service, client } = await startOn(t, temporaryFolder(t), { event_handlers: { crm } }, lines);
  for (const name of ['a', 'b', 'c']) await client.put(`/home/${name}`, 'x');
  await receiver.received(2);
  await service.stop();
  const lost = lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ message }) => message === 'events were not delivered');
  const failed = receiver.events((_, index) => index > 0);
  assert.ok(failed.length > 0);
  assert.deepEqual(
    lost.flatMap(({ event_uuids }) => event_uuids),
    failed.map(({ uuid }) => uuid),
  );
  const [first] = lost;
  assert.equal(first?.handler, 'crm');
  assert.equal(first.events, (first.event_uuids as string[]).length);
  for (const { event_ids } of lost) assert.ok((event_ids as string[]).every((id) => id === '40017' || id === '40021'));
});

test('the record of a failed delivery has its attempts and a limited copy of the reply, without secrets', async (t) => {
  const receiver = await startReceiver(t, {
    script: [{ status: 500, headers: { 'x-why': 'because', 'set-cookie': 'secret=1' }, body: 'x'.repeat(100_000) }, { status: 200 }],
  });
  const server = await startServer(t, { event_handlers: { crm: handler(`${receiver.url}?token=secret`) } });
  await server.put('/home/1.txt', 'x');
  await server.put('/home/2.txt', 'x');
  await receiver.received(2);
  await server.stop();
  const [failed, delivered] = await records(server.folder);
  assert.equal(failed?.outcome, 'failed');
  assert.equal(failed.attempts.length, 1);
  assert.equal(failed.attempts[0]?.status, 500);
  assert.equal(failed.attempts[0]?.url, `${receiver.url}?…`);
  assert.equal(failed.reply?.body.length, 65_536);
  assert.equal(failed.reply?.is_truncated, true);
  assert.ok(failed.reply?.headers.some(([name, value]) => name === 'x-why' && value === 'because'));
  assert.equal(JSON.stringify(failed).includes('secret'), false);
  assert.ok(failed.reply?.headers.some(([name, value]) => name === 'set-cookie' && value === '***'));
  assert.equal(delivered?.outcome, 'delivered');
  assert.equal(delivered.reply, undefined);
  assert.deepEqual(
    delivered.events.map(({ id }) => id),
    ['40017'],
  );
  for (const text of [...server.log, JSON.stringify(await server.events())]) assert.equal(text.includes('token=secret'), false);
});

test('if the file of positions is damaged, handlers continue from the positions in the delivery records', async (t) => {
  const folder = temporaryFolder(t);
  const receiver = await startReceiver(t);
  const config = { event_handlers: { crm: handler(receiver.url) } };
  const first = await startOn(t, folder, config);
  await first.client.put('/home/1.txt', 'x');
  await receiver.received(1);
  await first.service.stop();
  writeFileSync(join(folder, 'data/deliveries/positions.json'), '{"handlers": {"crm"');
  const lines: string[] = [];
  const second = await startOn(t, folder, config, lines);
  await second.client.put('/home/2.txt', 'x');
  await receiver.received(2);
  await second.service.stop();
  assert.deepEqual(paths(receiver.events()), ['/1.txt', '/2.txt']);
  assert.ok(lines.some((line) => line.includes('positions.json')));
  const saved = JSON.parse(readFileSync(join(folder, 'data/deliveries/positions.json'), 'utf8')) as { handlers: Record<string, string> };
  assert.match(saved.handlers.crm ?? '', /^\d{8}:\d+$/);
});

test('a malformed line in the journal is skipped and reported; a position beyond the end becomes the end', async (t) => {
  const folder = temporaryFolder(t);
  const receiver = await startReceiver(t);
  const first = await startOn(t, folder, {});
  await first.client.put('/home/1.txt', 'x');
  await first.service.stop();
  const journal = join(folder, 'data/journal/events-00000001.ndjson');
  writeFileSync(journal, `{"torn\n\u0000\u0000\n[]\n${readFileSync(journal, 'utf8')}`);
  writeFileSync(join(folder, 'data/deliveries/positions.json'), JSON.stringify({ handlers: { all: '00000001:0', far: '00000009:99' } }));
  const lines: string[] = [];
  const second = await startOn(t, folder, { event_handlers: { all: handler(receiver.url), far: handler(`${receiver.url}/far`) } }, lines);
  await second.client.put('/home/2.txt', 'x');
  await receiver.received(3);
  await second.service.stop();
  const got = (suffix: string) =>
    receiver.requests
      .filter(({ url }) => url.endsWith(suffix))
      .map(({ body }) => (JSON.parse(body.toString('utf8')) as { events: ServiceEvent[] }).events[0]?.data.path);
  assert.deepEqual(got('/hook'), ['/1.txt', '/2.txt']);
  assert.deepEqual(got('/far'), ['/2.txt']);
  assert.equal(lines.filter((line) => line.includes('a line of the journal was skipped')).length, 3);
});

test('retention never removes events that a running handler still needs', async (t) => {
  const folder = temporaryFolder(t);
  const dead = await startReceiver(t, { otherwise: { fault: 'hang' } });
  const config = {
    server: { shutdown_timeout: 0.1, events: { retention_days: 0.01, maximum_file_size: 65_536 } },
    event_handlers: { crm: handler(dead.url) },
  };
  const journal = join(folder, 'data/journal');
  const age = () => {
    const old = new Date(Date.now() - 3_600_000);
    for (const name of readdirSync(journal).filter((name) => name.startsWith('events-'))) utimesSync(join(journal, name), old, old);
  };
  const first = await startOn(t, folder, config);
  for (let index = 0; index < 90; index++) await first.client.put(`/home/${index}.txt`, 'x');
  await first.service.stop();
  age();
  const needed = readdirSync(journal).filter((name) => name.startsWith('events-')).length;
  assert.ok(needed >= 2);
  const second = await startOn(t, folder, config);
  await second.service.stop();
  assert.ok(readdirSync(journal).filter((name) => name.startsWith('events-')).length >= needed, 'all files are still there');
  age();
  const receiver = await startReceiver(t);
  const third = await startOn(t, folder, { ...config, event_handlers: { crm: handler(receiver.url, { batch_size: 10 }) } });
  await until('all are delivered', () => receiver.events().length >= 90);
  assert.deepEqual(
    paths(receiver.events()),
    Array.from({ length: 90 }, (_, index) => `/${index}.txt`),
  );
  await third.service.stop();
  age();
  const fourth = await startOn(t, folder, config);
  const left = () => readdirSync(journal).filter((name) => name.startsWith('events-')).length;
  await until('the old files are removed when no handler needs them', () => left() < needed);
  await fourth.service.stop();
});

test('an unreadable ca_certificates_path prevents a start, with a reason', async (t) => {
  const folder = temporaryFolder(t);
  const config = await testConfig(folder, {
    event_handlers: { crm: handler('https://localhost/', { ca_certificates_path: '/nowhere/ca.pem' }) },
  });
  await assert.rejects(new Server(config, { clock: systemClock, log: silentLog }).start(), /"crm": ca_certificates_path: .*nowhere/);
});
