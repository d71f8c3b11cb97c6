import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../support/child.ts';
import { Client, within } from '../support/client.ts';
import { control, listed } from '../support/control.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { writeConfig } from '../support/server.ts';
import { startSupervised } from '../support/supervised.ts';
import { temporaryFolder } from '../support/temp.ts';

test('a reload reaches all nodes or none; sessions and addresses stay', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2, { service: { headers: { 'X-Version': '1' } } });
  const session = await svc.login();
  const versions = async () =>
    new Set((await svc.everywhere(2, () => svc.get('/home/', within(session)))).map(({ headers }) => headers['x-version']));
  const reload = () => run(t, ['reload'], { cwd: svc.folder });
  assert.deepEqual([...(await versions())], ['1']);
  await svc.configure({ service: { headers: { 'X-Version': '2' } } });
  const good = await reload();
  assert.deepEqual([good.code, good.stdout], [0, 'reloaded: 1 change\n  services.web.headers\n'], good.stderr);
  assert.deepEqual([...(await versions())], ['2']);
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const home = { type: 'http', port: 0, headers: { 'X-Version': '3' } };
  await svc.configure({ services: { web: home, second: { type: 'http', port } } });
  const bad = await reload();
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /the port is in use/);
  assert.deepEqual([...(await versions())], ['2'], 'no node has the new one');
  await svc.configure({ services: { web: home, second: { type: 'http', port: 0, name: 'Second' } } });
  assert.equal((await reload()).code, 0);
  assert.deepEqual([...(await versions())], ['3']);
  const started = (await svc.events()).filter(({ id }) => id === '20076');
  assert.deepEqual(
    started.map(({ component, server }) => `${component.uuid} ${server.name}`).toSorted(),
    ['second test-1', 'second test-2', 'web test-1', 'web test-2'],
    'each node tells of its own, by its name',
  );
  const second = new Client(`http://127.0.0.1:${started.find(({ component }) => component.uuid === 'second')?.data.port}`);
  await svc.everywhere(2, () => second.get('/home/', { headers: { accept: 'application/json' } }));
  // A node that comes later has the configuration in force, on the same port.
  await svc.kill(svc.nodes());
  await svc.ready(2);
  assert.deepEqual([...(await versions())], ['3']);
  assert.equal((await second.get('/home/', { headers: { accept: 'application/json' } })).status, 200);
  assert.equal(await svc.count(20012), 4, 'two reloads of two nodes');
  assert.ok((await svc.count(20077)) >= 1);
  assert.equal(await svc.stop(), 0);
});

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
  /** Requests with a reply of 200 so far, and uploads. */
  let [reads, uploads] = [1, 0];

  await t.test('figures of all nodes add up', async () => {
    reads += (await svc.everywhere(2, () => svc.get('/home/', within(session)))).length;
    await until('all are counted', async () => (await metric(requests)) === reads);
    assert.equal(await metric(/^svc_sessions\{service="web"\} (\d+)$/), 1, 'counted once');
    assert.equal(await metric(/^svc_events_total\{id="20137"\} (\d+)$/), 1);
    assert.equal(await metric(/^svc_events_total\{id="20181"\} (\d+)$/), 2, 'one of each node');
    // While a handler goes over to the other node nobody runs it.
    let shown = '';
    await until('handlers have their node', async () => {
      shown = (await monitor.get('/metrics', { user: null })).text;
      return [...shown.matchAll(/^svc_handler_running\{.*\} 1$/gm)].length === 2;
    });
    for (const name of ['svc_redis_up', 'svc_handler_running', 'svc_config_info'])
      for (const [, value] of shown.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm')))
        assert.equal(value, '1', `${name} is no sum`);
    assert.equal(await metric(/^svc_workers (\d+)$/), 2);
    assert.ok((await metric(sentBytes)) > 0);
    const { text } = await monitor.get('/metrics', { user: null });
    const processes = [...text.matchAll(/^process_resident_memory_bytes\{process="([\w-]+)"\}/gm)].map((match) => match[1]);
    assert.deepEqual(processes.toSorted(), ['node-1', 'node-2']);
  });

  await t.test('an upload waits for its back-end through any node; other handlers get each event once', async () => {
    const replies = await svc.everywhere(2, () => svc.put(`/home/f${uploads++}`, 'x'));
    for (const reply of replies) assert.deepEqual([reply.status, reply.headers['x-receipt']], [201, 'r-1']);
    await crm.received(uploads);
    assert.equal(backend.requests.length, uploads, 'none a second time in the background');
    assert.equal(new Set(crm.events().map(({ uuid }) => uuid)).size, uploads);
  });

  await t.test('events of two nodes stand whole in the journal, each once', async () => {
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
    assert.deepEqual(Object.fromEntries(counts), { 40004: 180, 40017: 20, 40021: 20, 40039: 180 }, 'two for each request');
    const begun = ofRequests.filter(({ id }) => ['40004', '40021'].includes(id)).map(({ data }) => data.request_id);
    assert.equal(new Set(begun).size, 200);
    [reads, uploads] = [reads + 180, uploads + 20];
  });

  await t.test('figures do not fall when nodes die', async () => {
    await until('all are counted', async () => (await metric(requests)) === reads);
    const bytes = await metric(sentBytes);
    await svc.kill(svc.nodes());
    await svc.ready(2);
    await until('both are counted', async () => (await metric(/^svc_worker_restarts_total (\d+)$/)) === 2);
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

test('--workers without Redis is refused with the line to write; wrong numbers are wrong use', async (t) => {
  const cwd = temporaryFolder(t);
  await writeConfig(cwd);
  for (const args of [
    ['serve', '--workers', '2'],
    ['serve', '--workers', '2', '--root', '.'],
    ['validate', '--workers', '2'],
  ]) {
    const refused = await run(t, args, { cwd: args.includes('--root') ? temporaryFolder(t) : cwd });
    assert.deepEqual([refused.code, refused.stdout], [args[0] === 'serve' ? 2 : 1, ''], refused.stderr);
    assert.match(refused.stderr, /--workers 2 starts nodes that share Redis; write under "server": {2}state: \{type: redis, url: /);
  }
  const wrong = await run(t, ['serve', '--workers', 'many'], { cwd });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /auto/);
  await writeConfig(cwd, { server: { state: { type: 'redis', url: 'redis://127.0.0.1:1' } } });
  assert.equal((await run(t, ['validate', '--workers', '2'], { cwd })).code, 0);
});

test('nodes of one machine have host keys and accounts file in common; machines do not', async (t) => {
  const cwd = temporaryFolder(t);
  const validated = async (isChangeable: boolean, ...args: string[]) => {
    await writeConfig(cwd, {
      server: { state: { type: 'redis', url: 'redis://127.0.0.1:1' } },
      group: { allow_own_password_change: isChangeable },
      services: { web: { type: 'http' }, files: { type: 'ssh' } },
    });
    const { code, stdout } = await run(t, ['validate', '--json', ...args], { cwd });
    const { findings } = JSON.parse(stdout) as { findings: { severity: string; code: string; message: string }[] };
    const own = findings.filter((finding) => finding.code.endsWith('-own'));
    return { code, own: own.map((finding) => `${finding.severity} ${finding.code}`), texts: own.map(({ message }) => message).join() };
  };
  const both = ['warning accounts-file-own', 'warning host-key-own'];
  assert.deepEqual(await validated(false), { code: 0, own: both, texts: (await validated(false, '--workers', '1')).texts });
  assert.deepEqual((await validated(false, '--workers', '2')).own, []);
  assert.deepEqual((await validated(true)).code, 1, 'the old password would be good on the other nodes');
  const shared = await validated(true, '--workers', '2');
  assert.deepEqual([shared.code, shared.own], [0, ['warning accounts-file-own']]);
  assert.match(shared.texts, /if other machines share this Redis, after a password change .* the old password would still work on them/);
});

test('a session that is removed is over in all nodes', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2);
  assert.equal(statSync(join(svc.dataFolder, 'control.sock')).mode & 0o777, 0o600, 'for nobody else');
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
