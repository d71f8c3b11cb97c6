import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRunning, start } from '../support/child.ts';
import { Client, within } from '../support/client.ts';
import { asOperator, ConsoleClient, consoleService } from '../support/console.ts';
import { until } from '../support/receiver.ts';
import { startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { writeConfig } from '../support/server.ts';
import { startSupervised } from '../support/supervised.ts';
import { temporaryFolder } from '../support/temp.ts';

const support = join(process.env.SVC_ROOT ?? process.cwd(), 'test/support');

test('a fault in a request ends only this request; other faults end the node, which is replaced, or the supervisor', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const services = { web: { type: 'http', port: 0 }, eyes: { type: 'monitor', port: 0 } };
  const svc = await startSupervised(t, 2, { services }, { env: { NODE_OPTIONS: `--require ${join(support, 'planted-faults.cjs')}` } });
  await svc.ready(2);
  const [, eyes = ''] = await svc.running.line(/eyes listening on (\S+)\/\n/);
  const internalErrors = async () =>
    Number(/^svc_internal_errors_total (\d+)$/m.exec((await new Client(eyes).get('/metrics', { user: null })).text)?.[1]);
  const nodes = svc.nodes();
  const digest = `sha-256=:${createHash('sha256').update('planted-chunk').digest('base64')}:`;
  const put = () => svc.put('/home/a', 'planted-chunk', { headers: { 'content-digest': digest }, mayFail: true });
  for (const { status } of await Promise.all([put(), put(), put(), put()])) assert.equal(status, 500);
  assert.deepEqual(svc.nodes(), nodes, 'no node died');
  assert.equal(await internalErrors(), 4, 'the errors of both nodes are counted');
  const [first = 0] = nodes;
  process.kill(first, 'SIGUSR2');
  await until('another node takes its place', () => !isRunning(first) && svc.nodes().length === 2);
  assert.match(svc.running.stderr(), /a node ended and is replaced.*"reason":"exit code 70"/);
  assert.equal((await svc.put('/home/b', 'x')).status, 201);
  assert.equal(await svc.count(40003), 4);
  await svc.ready(2);
  const last = svc.nodes();
  svc.running.child.kill('SIGUSR2');
  assert.equal((await svc.running.ended).code, 70);
  await until('the nodes end, too', () => !last.some(isRunning));
  for (const number of [1, 2])
    assert.equal(existsSync(join(svc.dataFolder, 'nodes', String(number), 'svc.pid')), false, 'the node has removed its lock');
});

test('supervisor and nodes survive any messages from the other side, and log them once', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const env = { NODE_OPTIONS: `--require ${join(support, 'hostile-messages.cjs')}`, SVC_TEST_HOSTILE: '1' };
  const svc = await startSupervised(t, 2, {}, { env });
  await svc.ready(2);
  const nodes = svc.nodes();
  await svc.configure({ service: { headers: { 'x-reloaded': 'yes' } } });
  svc.running.child.kill('SIGHUP');
  await until('the configuration is reloaded', () => svc.running.stderr().includes('"message":"configuration reloaded"'));
  const replies = await svc.everywhere(2, () => svc.get('/home/'));
  assert.ok(replies.every(({ status, headers }) => status === 200 && headers['x-reloaded'] === 'yes'));
  assert.deepEqual(svc.nodes(), nodes);
  assert.equal(await svc.stop(), 0);
  const told = svc.running.stderr().match(/message of (a node|the supervisor) is ignored","node":\d/g) ?? [];
  // A node that has not started has no number yet.
  assert.deepEqual(told.toSorted(), ['message of a node is ignored","node":1', 'message of a node is ignored","node":2']);
  assert.equal(svc.running.stderr().match(/message of the supervisor is ignored/g)?.length, 2);
});

test('one console ends sessions in all nodes, and its reload reaches each node once', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const services = { web: { type: 'http', port: 0 }, console: await consoleService() };
  const svc = await startSupervised(t, 2, { services });
  await svc.ready(2);
  const [, url = ''] = await svc.running.line(/console listening on (\S+)\/\n/);
  const console = new ConsoleClient(url);
  const session = await svc.login();
  const statuses = async () => new Set((await svc.everywhere(2, () => svc.get('/home/', within(session)))).map(({ status }) => status));
  assert.deepEqual([...(await statuses())], [200]);
  await until('the console shows both nodes', async () => {
    const { nodes } = (await console.get('/api/overview', asOperator)).json<{ nodes: { node: string; phase: string }[] }>();
    return nodes.filter(({ phase }) => phase === 'ready').length === 2;
  });
  assert.deepEqual((await console.send('DELETE', '/api/sessions?account=alice', asOperator)).json(), { removed: 1 });
  assert.deepEqual([...(await statuses())], [401]);
  const changed = (await console.get('/api/configuration/changes', asOperator)).json<{ changes: unknown[] }>();
  assert.deepEqual(changed.changes, [], 'that each node gets only a share of a limit is not shown as a change');
  await svc.configure({ services: { web: { type: 'http', port: 0, headers: { 'x-reloaded': 'yes' } }, console: services.console } });
  const reload = (await console.send('POST', '/api/configuration/reload', asOperator)).json<{ changes: string[]; nodes: object[] }>();
  assert.deepEqual([reload.changes, reload.nodes.length], [['services.web.headers'], 2]);
  const replies = await svc.everywhere(2, () => svc.get('/home/'));
  assert.ok(replies.every(({ headers }) => headers['x-reloaded'] === 'yes'));
  assert.equal(await svc.count(20012), 2, 'one reload, reported by each node');
});

test('SIGTERM during the start test of a callout ends supervisor and nodes', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  let asked = 0;
  const endpoint = createServer(() => {
    asked++;
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  t.after(() => endpoint.closeAllConnections());
  t.after(() => endpoint.close());
  const folder = temporaryFolder(t);
  const redis = await startRedis(t);
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/`;
  await writeConfig(folder, {
    server: { state: { type: 'redis', url: redis.url } },
    authentications: { remote: { type: 'http', url, timeout: 600, test_at_start: true } },
  });
  const server = start(t, ['serve', '--workers', '2'], { cwd: folder });
  await until('the callout is asked', () => asked > 0);
  server.child.kill('SIGTERM');
  const { code, stdout } = await server.ended;
  assert.deepEqual([code, stdout], [0, '']);
});
