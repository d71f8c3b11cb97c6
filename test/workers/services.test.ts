import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { run, start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { testPassword, testUser } from '../support/secrets.ts';
import { fillDisk, smallDisk } from '../support/small-disk.ts';
import { temporaryFolder } from '../support/temp.ts';
import { startFleet, within } from '../support/workers.ts';

const statuses = (replies: { status: number }[]) => [...new Set(replies.map(({ status }) => status))];

test('a reload reaches all workers or none; sessions and addresses stay', async (t) => {
  const fleet = await startFleet(t, 2, { service: { headers: { 'X-Version': '1' } } });
  const session = await fleet.login();
  const versions = async () =>
    new Set((await fleet.everywhere(2, () => fleet.get('/home/', within(session)))).map(({ headers }) => headers['x-version']));
  const reload = () => run(t, ['reload'], { cwd: fleet.folder });
  assert.deepEqual([...(await versions())], ['1']);
  await fleet.configure({ service: { headers: { 'X-Version': '2' } } });
  const good = await reload();
  assert.deepEqual([good.code, good.stdout], [0, 'reloaded: 1 change\n  services.web.headers\n'], good.stderr);
  assert.deepEqual([...(await versions())], ['2']);
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const home = { type: 'http', port: 0, headers: { 'X-Version': '3' } };
  await fleet.configure({ services: { web: home, second: { type: 'http', port } } });
  const bad = await reload();
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /the port is in use/);
  assert.deepEqual([...(await versions())], ['2'], 'no worker has the new one');
  await fleet.configure({ services: { web: home, second: { type: 'http', port: 0, name: 'Second' } } });
  assert.equal((await reload()).code, 0);
  assert.deepEqual([...(await versions())], ['3']);
  const started = (await fleet.events()).filter(({ id }) => id === '20076');
  assert.deepEqual(
    started.map(({ component }) => component.uuid),
    ['web', 'second'],
    'each once',
  );
  const second = new Client(`http://127.0.0.1:${started[1]?.data.port}`);
  await fleet.everywhere(2, () => second.get('/home/', { headers: { accept: 'application/json' } }));
  // A worker that comes later has the configuration in force, on the same port.
  await fleet.kill(fleet.workers());
  await fleet.ready(2);
  assert.deepEqual([...(await versions())], ['3']);
  assert.equal((await second.get('/home/', { headers: { accept: 'application/json' } })).status, 200);
  assert.equal(await fleet.count(20077), 1);
  assert.equal(await fleet.count(20012), 2);
  assert.equal(await fleet.stop(), 0);
});

test('two workers, their back-end and their monitor', async (t) => {
  const backend = await startReceiver(t, { otherwise: { headers: { 'x-receipt': 'r-1' } } });
  const crm = await startReceiver(t);
  const fleet = await startFleet(t, 2, {
    services: {
      web: { type: 'http', port: 0, api_backend_uuid: 'backend', api_passthrough_headers: 'x-receipt' },
      watch: { type: 'monitor', port: 0 },
    },
    event_handlers: {
      backend: { type: 'http', target: '40017', data_filter: 'api_backend, yes', url: backend.url },
      crm: { type: 'http', target: '40017', url: crm.url },
    },
  });
  const [, monitorUrl = ''] = await fleet.running.line(/watch listening on (\S+)\/\n/);
  const monitor = new Client(monitorUrl);
  const metric = async (pattern: RegExp) => {
    const { text } = await monitor.get('/metrics', { user: null });
    return [...text.matchAll(new RegExp(pattern, 'gm'))].reduce((sum, match) => sum + Number(match[1]), 0);
  };
  const requests = /^svc_http_requests_total\{.*status="200".*\} (\d+)$/;
  const sentBytes = /^svc_http_sent_bytes_total\{service="web"\} (\d+)$/;
  const session = await fleet.login();
  /** Requests with a reply of 200 so far, and uploads. */
  let [reads, uploads] = [1, 0];

  await t.test('figures of all workers add up', async () => {
    reads += (await fleet.everywhere(2, () => fleet.get('/home/', within(session)))).length;
    await until('all are counted', async () => (await metric(requests)) === reads);
    assert.equal(await metric(/^svc_sessions\{service="web"\} (\d+)$/), 1, 'counted once');
    assert.equal(await metric(/^svc_events_total\{id="20137"\} (\d+)$/), 1);
    assert.equal(await metric(/^svc_events_total\{id="20181"\} (\d+)$/), 1);
    assert.equal(await metric(/^svc_workers (\d+)$/), 2);
    assert.ok((await metric(sentBytes)) > 0);
    const { text } = await monitor.get('/metrics', { user: null });
    const processes = [...text.matchAll(/^process_resident_memory_bytes\{process="([\w-]+)"\}/gm)].map((match) => match[1]);
    assert.deepEqual(processes.toSorted(), ['primary', 'worker-1', 'worker-2']);
  });

  await t.test('an upload waits for its back-end through any worker; other handlers get each event once', async () => {
    const replies = await fleet.everywhere(2, () => fleet.put(`/home/f${uploads++}`, 'x'));
    for (const reply of replies) assert.deepEqual([reply.status, reply.headers['x-receipt']], [201, 'r-1']);
    await crm.received(uploads);
    assert.equal(backend.requests.length, uploads, 'none a second time in the background');
    assert.equal(new Set(crm.events().map(({ uuid }) => uuid)).size, uploads);
  });

  await t.test('events of two workers stand whole in the journal, each once', async () => {
    writeFileSync(join(fleet.home, 'a'), 'A');
    const lanes = Array.from({ length: 10 }, async (_, lane) => {
      for (let index = 0; index < 20; index++) {
        const id = `r-${lane}-${index}`;
        const asked = within(session, { headers: { 'x-request-id': id } });
        if (index % 10 === 0) assert.equal((await fleet.put(`/home/f${lane}-${index}`, 'x', asked)).status, 201);
        else assert.equal((await fleet.get('/home/a', asked)).status, 200);
      }
    });
    await Promise.all(lanes);
    assert.equal(fleet.answered().size, 2);
    const ofRequests = (await fleet.events()).filter(({ data }) => /^r-/.test(String(data.request_id)));
    assert.equal(ofRequests.length, 400, 'two for each request');
    const begun = ofRequests.filter(({ id }) => ['40004', '40021'].includes(id)).map(({ data }) => data.request_id);
    assert.equal(new Set(begun).size, 200);
    [reads, uploads] = [reads + 180, uploads + 20];
  });

  await t.test('figures do not fall when workers die', async () => {
    await until('all are counted', async () => (await metric(requests)) === reads);
    const bytes = await metric(sentBytes);
    await fleet.kill(fleet.workers());
    await fleet.ready(2);
    await until('both are counted', async () => (await metric(/^svc_worker_restarts_total (\d+)$/)) === 2);
    assert.equal(await metric(requests), reads);
    assert.ok((await metric(sentBytes)) >= bytes);
    const ready = await monitor.get('/ready', { user: null });
    assert.deepEqual(ready.json(), { status: 'ready', checks: { server: 'ok', journal: 'ok', state: 'ok', workers: 'ok' } });
  });

  await crm.received(uploads);
  assert.equal(await fleet.stop(), 0);
  assert.equal(await fleet.count(40017), uploads);
  assert.equal(backend.requests.length, uploads);
  const events = await fleet.events();
  assert.equal(new Set(events.map(({ uuid }) => uuid)).size, events.length);
});

test('the callout is tested once for all workers, which share what it accepted, and fail closed when it fails', async (t) => {
  const endpoint = await startReceiver(t, { script: [{ status: 401 }], otherwise: { status: 204 } });
  const method = (url: string) => ({ id: { type: 'http', url, cache_seconds: 60 } });
  const fleet = await startFleet(t, 2, { authentications: method(endpoint.url), group: { permissions: ['allow-full-control'] } });
  assert.equal(endpoint.requests.length, 1);
  assert.equal(await fleet.count(20156), 1);
  await fleet.everywhere(2, () => fleet.get('/home/', { headers: { accept: 'application/json' } }));
  assert.equal(endpoint.requests.length, 2, 'remembered for all');
  assert.equal(new RegExp(`alice:|${testPassword}`).test(fleet.running.stderr()), false);
  await fleet.configure({ authentications: method('http://127.0.0.1:1/'), group: { permissions: ['allow-full-control'] } });
  assert.equal((await run(t, ['reload'], { cwd: fleet.folder })).code, 0);
  assert.equal(await fleet.count(20157), 1);
  const refused = await fleet.everywhere(2, () => fleet.get('/home/', { headers: { accept: 'application/json' }, user: 'alice:other' }));
  assert.deepEqual(statuses(refused), [401]);
  assert.ok((await fleet.events()).some(({ id, data }) => id === '20142' && /method failed/.test(String(data.details))));
});

test('a full disk of the journal: workers refuse changes, reads go on, and it recovers', async (t) => {
  const disk = smallDisk(t, 6000);
  if (!disk) return;
  const fleet = await startFleet(t, 2, { server: { data_folder_path: join(disk, 'data') } });
  const session = await fleet.login();
  assert.equal((await fleet.put('/home/a', 'old', within(session))).status, 201);
  fillDisk(join(disk, 'filler'));
  await until('it is noticed', async () => {
    assert.equal((await fleet.get('/home/a', within(session))).text, 'old');
    return fleet.running.stderr().includes('the disk of the journal is full');
  });
  await until('all workers know', async () => {
    const replies = await fleet.everywhere(2, () => fleet.put('/home/b', 'new', within(session)));
    return replies.every(({ status }) => status === 507);
  });
  assert.deepEqual(statuses(await fleet.everywhere(2, () => fleet.get('/home/a', within(session)))), [200]);
  truncateSync(join(disk, 'filler'), 0);
  await until('it recovers', async () => {
    const replies = await fleet.everywhere(2, () => fleet.put('/home/b', 'new', within(session)));
    return replies.every(({ status }) => status === 201);
  });
});

test('what workers cannot share is refused with the reason', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(
    join(cwd, 'redis.json'),
    JSON.stringify({
      server: { state: { type: 'redis', url: 'redis://127.0.0.1:1' } },
      services: { web: { type: 'http', port: 0 } },
      groups: { DEFAULT_GROUP: { home_folder_path: './f' } },
    }),
  );
  const redis = await run(t, ['serve', '--workers', '2', '--config', 'redis.json'], { cwd });
  assert.deepEqual([redis.code, redis.stdout], [2, '']);
  assert.match(redis.stderr, /--workers.*redis/);
  const wrong = await run(t, ['serve', '--workers', 'many'], { cwd });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /auto/);
  const auto = start(t, ['serve', '--workers', 'auto', '--port', '0', '--user', testUser], { cwd });
  await auto.line(/listening/);
  auto.child.kill('SIGTERM');
  assert.equal((await auto.ended).code, 0);
});
