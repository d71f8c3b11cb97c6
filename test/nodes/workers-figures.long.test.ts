import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client, within } from '../support/client.ts';
import { control, listed } from '../support/control.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { startSupervised } from '../support/supervised.ts';

test('two nodes, their back-end and their monitor', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const backend = await startReceiver(t, { otherwise: { headers: { 'x-receipt': 'r-1' } } });
  const crm = await startReceiver(t);
  const svc = await startSupervised(t, 2, {
    services: {
      web: { type: 'http', port: 0, api_backend_uuid: 'backend', api_passthrough_headers: 'x-receipt' },
      watch: { type: 'monitor', port: 0 },
    },
    event_handlers: {
      backend: { type: 'http', target: '40017', data_filter: 'api_backend, yes', url: backend.url },
      crm: { type: 'http', target: '40017', url: crm.url },
    },
  });
  const [, monitorUrl = ''] = await svc.running.line(/watch listening on (\S+)\/\n/);
  const monitor = new Client(monitorUrl);
  const metric = async (pattern: RegExp) => {
    const { text } = await monitor.get('/metrics', { user: null });
    return [...text.matchAll(new RegExp(pattern, 'gm'))].reduce((sum, match) => sum + Number(match[1]), 0);
  };
  const requests = /^svc_http_requests_total\{.*status="200".*\} (\d+)$/;
  const sentBytes = /^svc_http_sent_bytes_total\{service="web"\} (\d+)$/;
  const session = await svc.login();
  /** Numbers of requests that got 200 (the login is the first), and of uploads. */
  let [reads, uploads] = [1, 0];

  await t.test('figures of all nodes add up', async () => {
    reads += (await svc.everywhere(2, () => svc.get('/home/', within(session)))).length;
    await until('all requests are counted', async () => (await metric(requests)) === reads);
    assert.equal(await metric(/^svc_sessions\{service="web"\} (\d+)$/), 1, 'the session of both nodes is counted once');
    assert.equal(await metric(/^svc_events_total\{id="20137"\} (\d+)$/), 1);
    assert.equal(await metric(/^svc_events_total\{id="20181"\} (\d+)$/), 2, 'each node has emitted one event');
    // The test waits, because while a handler moves from node to node, no node runs it.
    let shown = '';
    await until('handlers have their node', async () => {
      shown = (await monitor.get('/metrics', { user: null })).text;
      return [...shown.matchAll(/^svc_handler_running\{.*\} 1$/gm)].length === 2;
    });
    for (const name of ['svc_redis_up', 'svc_handler_running', 'svc_config_info'])
      for (const [, value] of shown.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm')))
        assert.equal(value, '1', `${name} is not added up`);
    assert.equal(await metric(/^svc_workers (\d+)$/), 2);
    assert.ok((await metric(sentBytes)) > 0);
    const { text } = await monitor.get('/metrics', { user: null });
    const processes = [...text.matchAll(/^process_resident_memory_bytes\{process="([\w-]+)"\}/gm)].map((match) => match[1]);
    assert.deepEqual(processes.toSorted(), ['node-1', 'node-2']);
  });

  await t.test('an upload at any node waits for the back-end; other handlers get each event once', async () => {
    const replies = await svc.everywhere(2, () => svc.put(`/home/f${uploads++}`, 'x'));
    for (const reply of replies) assert.deepEqual([reply.status, reply.headers['x-receipt']], [201, 'r-1']);
    await crm.received(uploads);
    assert.equal(backend.requests.length, uploads, 'no event is sent a second time in the background');
    assert.equal(new Set(crm.events().map(({ uuid }) => uuid)).size, uploads);
  });

  await t.test('events of two nodes are whole in the journal, each once', async () => {
    writeFileSync(join(svc.home, 'a'), 'A');
    const lanes = Array.from({ length: 10 }, async (_, lane) => {
      for (let index = 0; index < 20; index++) {
        const id = `r-${lane}-${index}`;
        const asked = within(session, { headers: { 'x-request-id': id } });
        if (index % 10 === 0) assert.equal((await svc.put(`/home/f${lane}-${index}`, 'x', asked)).status, 201);
        else assert.equal((await svc.get('/home/a', asked)).status, 200);
      }
    });
    await Promise.all(lanes);
    const ofRequests = (await svc.events()).filter(({ data }) => /^r-/.test(String(data.request_id)));
    const counts = new Map<string, number>();
    for (const { id } of ofRequests) counts.set(id, (counts.get(id) ?? 0) + 1);
    assert.deepEqual(Object.fromEntries(counts), { 40004: 180, 40017: 20, 40021: 20, 40039: 180 }, 'two events for each request');
    const begun = ofRequests.filter(({ id }) => ['40004', '40021'].includes(id)).map(({ data }) => data.request_id);
    assert.equal(new Set(begun).size, 200);
    [reads, uploads] = [reads + 180, uploads + 20];
  });

  await t.test('figures do not fall when nodes die', async () => {
    await until('all requests are counted', async () => (await metric(requests)) === reads);
    const bytes = await metric(sentBytes);
    await svc.kill(svc.nodes());
    await svc.ready(2);
    await until('both restarts are counted', async () => (await metric(/^svc_worker_restarts_total (\d+)$/)) === 2);
    assert.equal(await metric(requests), reads);
    assert.ok((await metric(sentBytes)) >= bytes);
    const ready = await monitor.get('/ready', { user: null });
    assert.deepEqual(ready.json(), { status: 'ready', checks: { server: 'ok', journal: 'ok', state: 'ok' } });
  });

  await crm.received(uploads);
  assert.equal(await svc.stop(), 0);
  assert.equal(await svc.count(40017), uploads);
  assert.equal(backend.requests.length, uploads);
  const events = await svc.events();
  assert.equal(new Set(events.map(({ uuid }) => uuid)).size, events.length);
});

test('a session that is removed ends in all nodes', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2);
  assert.equal(statSync(join(svc.dataFolder, 'control.sock')).mode & 0o777, 0o600, 'only its owner can open the socket');
  const [first, second] = [await svc.login(), await svc.login()];
  const ok = await svc.everywhere(2, () => svc.get('/home/', within(first)));
  assert.ok(ok.every(({ status }) => status === 200));
  const all = await listed(t, svc.dataFolder, 'sessions');
  assert.deepEqual(
    all.map(({ account, address }) => [account, address]),
    [
      ['alice', '127.0.0.1'],
      ['alice', '127.0.0.1'],
    ],
  );
  const older = all.sort((a, b) => a.created.localeCompare(b.created))[0];
  assert.equal((await control(t, svc.dataFolder, 'sessions', 'remove', older?.id ?? '')).code, 0);
  const gone = await svc.everywhere(2, () => svc.get('/home/', within(first)));
  assert.ok(gone.every(({ status }) => status === 401));
  const stays = await svc.everywhere(2, () => svc.get('/home/', within(second)));
  assert.ok(stays.every(({ status }) => status === 200));
  assert.equal((await control(t, svc.dataFolder, 'sessions', 'remove', '--all')).stdout, 'removed 1 session\n');
  const none = await svc.everywhere(2, () => svc.get('/home/', within(second)));
  assert.ok(none.every(({ status }) => status === 401));
});
