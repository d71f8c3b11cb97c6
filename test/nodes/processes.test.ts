import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { run } from '../support/child.ts';
import type { Client } from '../support/client.ts';
import { delivered, type NodeProcess, startNodes } from '../support/node-process.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

test('sessions and bans are shared by all nodes; while Redis is absent, requests get 503 with Retry-After', {
  timeout: 60_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const receiver = await startReceiver(t);
  const nodes = await startNodes(t, temporaryFolder(t), receiver.url, [redis.url, redis.url]);
  const [here, there] = nodes.map(({ client }) => client) as [Client, Client];
  const session = await here.login();
  const withSession = { headers: { authorization: `session ${session}` } };
  assert.equal((await there.get('/home/', withSession)).status, 200);
  for (let index = 0; index < 3; index++)
    await (index % 2 === 0 ? here : there).get('/home/', { user: `alice:wrong ${index}`, headers: { 'x-forwarded-for': '192.0.2.9' } });
  for (const client of [here, there]) {
    const refused = await client.get('/home/', { headers: { 'x-forwarded-for': '192.0.2.9' } });
    assert.equal(refused.status, 429, 'a banned address is refused even with the right password');
    assert.ok(Number(refused.headers['retry-after']) > 590);
  }
  await pause(1200);
  await redis.kill();
  for (const client of [here, there]) {
    for (const options of [withSession, {}, { user: 'alice:wrong' }]) {
      const away = await client.get('/home/', options);
      assert.equal(away.status, 503, 'no request is accepted while checks are not possible');
      assert.ok(Number(away.headers['retry-after']) > 0);
    }
  }
  await redis.restart();
  for (const client of [here, there])
    await until('sessions work again', async () => (await client.get('/home/', withSession)).status === 200);
  const banned = await here.get('/home/', { headers: { 'x-forwarded-for': '192.0.2.9' } });
  assert.equal(banned.status, 429, 'the ban holds');
  assert.equal((await here.send('POST', '/__svc__/logout', withSession)).status, 204);
  await redis.kill();
  await redis.restart();
  for (const client of [here, there]) await until('the node is back', async () => (await client.get('/home/')).status === 200);
  for (const client of [here, there])
    assert.equal((await client.get('/home/', withSession)).status, 401, 'no session lives after its logout');
});

test('svc events and svc webhook-replay work with the journal in Redis as with files', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const receiver = await startReceiver(t, { script: [{ status: 500 }, { status: 500 }, { status: 500 }, { status: 500 }] });
  const folder = temporaryFolder(t);
  const nodes = await startNodes(t, folder, receiver.url, [redis.url, redis.url]);
  const [first, second] = nodes as [NodeProcess, NodeProcess];
  await first.client.put('/home/a.txt', 'x');
  await receiver.received(4);
  await second.client.put('/home/b.txt', 'x');
  await receiver.received(5);
  const svc = (...args: string[]) => run(t, [...args, '--config', first.config], { cwd: folder });
  await until('both outcomes are recorded', async () => (await svc('events', '--deliveries', '--json')).stdout.split('\n').length === 3);
  const listed = await svc('events', '--id', '40017', '--json');
  assert.deepEqual(
    listed.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as ServiceEvent).data.path),
    ['/a.txt', '/b.txt'],
  );
  const failed = await svc('events', '--failed', '--id', '40017', '--json');
  assert.equal(failed.stdout.trim().split('\n').length, 1);
  assert.match(failed.stdout, /a\.txt/);
  const replayed = await svc('webhook-replay', '--failed', '--id', '40017', '--json');
  assert.equal(replayed.code, 0, replayed.stderr);
  assert.deepEqual(delivered((await receiver.received(6)).slice(5)), ['/a.txt']);
  const again = await svc('events', '--failed', '--id', '40017', '--json');
  assert.equal(again.stdout, '', 'the replay is recorded, too');
  const exact = await svc('webhook-replay', '--exact', '--id', '40017', '--dry-run');
  assert.equal(exact.code, 0, exact.stderr);
  assert.match(exact.stdout, /a\.txt[\s\S]*b\.txt|b\.txt[\s\S]*a\.txt/);
  await redis.kill();
  const away = await svc('events');
  assert.equal(away.code, 3, away.stderr);
  assert.match(away.stderr, /away/);
});
