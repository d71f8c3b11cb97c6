import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { run } from '../support/child.ts';
import { delivered, type NodeProcess, startNodes, untilWithinMinute } from '../support/node-process.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { startProxy, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

test('svc events forward passes events of a dead node to Redis, and living nodes deliver them once', { timeout: 110_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const cable = await startProxy(t, redis.port);
  const receiver = await startReceiver(t);
  const folder = temporaryFolder(t);
  const nodes = await startNodes(t, folder, receiver.url, [redis.url, `redis://127.0.0.1:${cable.port}`]);
  const [living, dead] = nodes as [NodeProcess, NodeProcess];
  const begunUploads = () => readFileSync(join(folder, 'n1/journal/events-00000001.ndjson'), 'utf8').split('"40021"').length - 1;
  const headers = { 'x-forwarded-for': '192.0.2.1' };
  assert.equal((await dead.client.put('/home/before.txt', 'x', { headers })).status, 201);
  await untilWithinMinute('the first upload is delivered', () => delivered(receiver.requests).includes('/before.txt'));
  const authorization = `session ${await dead.client.login()}`;
  // The upload begins before the cut and ends after it, so only this node has the event of the answered upload.
  const upload = request(`http://127.0.0.1:${dead.port}/home/alone.txt`, { method: 'PUT', headers: { authorization } });
  upload.write('begin');
  await until('the upload has begun', () => begunUploads() === 2);
  cable.cut();
  upload.end('end');
  const [answer] = (await once(upload, 'response')) as [IncomingMessage];
  assert.equal(answer.statusCode, 201);
  answer.resume();
  await dead.kill();
  const svc = (...args: string[]) => run(t, ['events', 'forward', '--config', living.config, ...args], { cwd: folder });
  const used = await svc('--data-folder', `${folder}/n0`);
  assert.equal(used.code, 3, 'a service uses the data folder');
  assert.match(used.stderr, /in use/);
  assert.equal((await svc('--data-folder', `${folder}/none`)).code, 2);
  const first = await svc('--data-folder', `${folder}/n1`, '--json');
  assert.equal(first.code, 0, first.stderr);
  assert.ok((JSON.parse(first.stdout) as { forwarded: number }).forwarded >= 1);
  const again = await svc('--data-folder', `${folder}/n1`);
  assert.match(again.stdout, /^forwarded 0 events from /, 'no event is forwarded twice');
  const journal = await run(t, ['events', '--json', '--config', living.config], { cwd: folder });
  const lines = (text: string) => text.split('\n').filter((line) => line !== '');
  const uuids = lines(journal.stdout).map((line) => (JSON.parse(line) as ServiceEvent).uuid);
  const own = await run(t, ['events', '--json', '--config', living.config, '--data-folder', `${folder}/n1`], { cwd: folder });
  for (const line of lines(own.stdout)) {
    const { uuid, message } = JSON.parse(line) as ServiceEvent;
    assert.equal(uuids.filter((other) => other === uuid).length, 1, message);
  }
  await untilWithinMinute('the upload of the dead node is delivered', () => delivered(receiver.requests).includes('/alone.txt'));
  assert.equal(delivered(receiver.requests).length, 2);
  await redis.kill();
  const away = await svc('--data-folder', `${folder}/n1`);
  assert.equal(away.code, 3);
  assert.match(away.stderr, /away/);
});

test('svc events reports that Redis lost its history, and names the files that have it', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const receiver = await startReceiver(t);
  const folder = temporaryFolder(t);
  const [node] = (await startNodes(t, folder, receiver.url, [redis.url])) as [NodeProcess];
  await node.client.put('/home/before.txt', 'x');
  await untilWithinMinute('the upload is delivered', () => delivered(receiver.requests).length === 1);
  const svc = (...args: string[]) => run(t, ['events', '--id', '40017', '--config', node.config, ...args], { cwd: folder });
  const whole = await svc();
  assert.equal(whole.stderr, '');
  assert.match(whole.stdout, /before\.txt/);
  // Waits until the delivery is old enough that a loss of Redis does not repeat it.
  await new Promise((resolve) => setTimeout(resolve, 4500));
  await redis.command('FLUSHALL');
  await untilWithinMinute('the loss is noticed', async () => !(await redis.command('HLEN {svc}:journal-lost')).startsWith(':0'));
  await untilWithinMinute('uploads continue', async () => (await node.client.put('/home/after.txt', 'x')).status === 201);
  await untilWithinMinute('the journal continues', async () => /after\.txt/.test((await svc()).stdout));
  const lost = await svc();
  assert.match(lost.stderr, new RegExp(`the journal in Redis was emptied \\(noticed at 20.*svc events --data-folder ${folder}/n0`));
  assert.match((await svc('--data-folder', `${folder}/n0`)).stdout, /before\.txt/);
});
