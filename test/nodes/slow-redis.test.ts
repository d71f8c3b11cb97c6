import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Overview } from '../../src/console/api/schemas/overview.ts';
import { ConsoleClient, consoleService } from '../support/console.ts';
import { EventReader } from '../support/event-reader.ts';
import { startNodesOnRedis } from '../support/nodes.ts';
import { until } from '../support/receiver.ts';

test('while Redis does not answer, a console says so in time, and shows the data of its own node', { timeout: 60_000 }, async (t) => {
  const begun = await startNodesOnRedis(t, 2, { services: { web: { type: 'http', port: 0 }, console: await consoleService() } });
  if (!begun) return;
  const { redis, nodes } = begun;
  const url = nodes[0]?.service.listening().find(({ uuid }) => uuid === 'console')?.url ?? '';
  const console = new ConsoleClient(url);
  const session = { headers: await console.session() };
  const overview = async () => (await console.get('/api/overview', session)).json<Overview>();
  await until('the console shows both nodes', async () => (await overview()).nodes.length === 2);
  const other = await console.session();
  await redis.command('CLIENT PAUSE 6000 ALL');
  const paused = performance.now();
  // The live events begin with a question to Redis about the end of the journal. Their session ends while they wait for the answer.
  const tail = EventReader.open(`${url}/api/events/live`, other);
  for (const path of ['/api/me', '/api/logout'])
    assert.ok((await console.send(path === '/api/me' ? 'GET' : 'POST', path, { headers: other })).status < 300);
  const status = async (path: string) => (await console.get(path, session)).status;
  const ofNode = ['overview', 'handlers', 'replays', 'configuration'];
  const ofAll = ['sessions', 'bans', 'locks', 'uploads', 'events', 'deliveries'];
  const [own, shared] = await Promise.all([ofNode, ofAll].map((names) => Promise.all(names.map((name) => status(`/api/${name}`)))));
  const { services, incomplete } = await overview();
  // The first commands to Redis wait two seconds. After that, commands fail at once, until Redis answers again.
  assert.ok(performance.now() - paused < 5000, 'Redis is still paused');
  assert.deepEqual(own, [200, 200, 200, 200]);
  assert.deepEqual(shared, [503, 503, 503, 503, 503, 503]);
  assert.deepEqual([services.map(({ node }) => node), incomplete.endsWith('no answer within 2 s')], [['n0', 'n0'], true]);
  const reader = await tail;
  await until('a logged-out administrator gets no messages', () => reader.isEnded);
  await until('Redis is back', async () => (await overview()).incomplete === '');
  assert.equal(await status('/api/events'), 200);
});
