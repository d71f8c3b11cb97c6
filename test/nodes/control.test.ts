import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { within } from '../support/client.ts';
import { control, listed } from '../support/control.ts';
import { startNodes } from '../support/node-process.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

test('commands at any node list and remove the sessions of all nodes; while Redis is absent, they say so', {
  timeout: 90_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const receiver = await startReceiver(t);
  const folder = temporaryFolder(t);
  const [here, there] = await startNodes(t, folder, receiver.url, [redis.url, redis.url]);
  assert.ok(here && there);
  const session = await here.client.login();
  assert.equal((await there.client.get('/home/', within(session))).status, 200);
  const [listedThere] = await listed(t, join(folder, 'n1'), 'sessions');
  assert.equal(listedThere?.account, 'alice');
  assert.deepEqual(await listed(t, join(folder, 'n0'), 'sessions'), await listed(t, join(folder, 'n1'), 'sessions'));
  assert.equal((await control(t, join(folder, 'n1'), 'sessions', 'remove', listedThere?.id ?? '')).code, 0);
  for (const { client } of [here, there]) assert.equal((await client.get('/home/', within(session))).status, 401);
  await redis.kill();
  await until('the node notices that Redis is absent', async () => (await control(t, join(folder, 'n0'), 'sessions', 'list')).code === 3);
  const away = await control(t, join(folder, 'n0'), 'locks', 'list');
  assert.deepEqual([away.code, away.stdout], [3, '']);
  assert.equal(away.stderr, 'svc: The state of the service cannot be reached at present.\n');
});
