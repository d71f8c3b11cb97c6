import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../support/client.ts';
import { startNode, startNodesOnRedis, type TestNode } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';

const handler = (url: string, options: Record<string, unknown> = {}) => ({ type: 'http', target: '40017', url, ...options });

test('a node that starts without Redis stays up, but is not ready; later, its new handler gets the events since this start', async (t) => {
  const receiver = await startReceiver(t);
  const services = { web: { type: 'http', port: 0 }, eyes: { type: 'monitor', port: 0 } };
  const begun = await startNodesOnRedis(t, 1, { services });
  if (!begun) return;
  const { redis, folder, nodes } = begun;
  await nodes[0]?.put('/home/before.txt', 'x');
  await nodes[0]?.stop();
  await redis.kill();
  const handlers = { late: { ...handler(receiver.url), target: '40017, 20001' } };
  const node = await startNode(t, folder, 'n0', redis.url, {
    services,
    event_handlers: handlers,
    server: { security_policy: { ban_after_failures: 0 } },
  });
  assert.ok(node.log.some((line) => /Redis is away; the server is up, but not ready/.test(line)));
  const monitor = new Client(node.service.listening().find(({ uuid }) => uuid === 'eyes')?.url ?? '');
  const ready = () => monitor.get('/ready', { user: null });
  assert.equal((await ready()).status, 503);
  assert.equal((await monitor.get('/health', { user: null })).status, 200);
  const refused = await node.get('/home/', { headers: { authorization: 'session none' } });
  assert.equal(refused.status, 503);
  assert.ok(Number(refused.headers['retry-after']) > 0);
  assert.equal((await node.put('/home/meanwhile.txt', 'x')).status, 201, 'requests that need no state are served');
  await redis.restart();
  await until('the node is ready', async () => (await ready()).status === 200);
  assert.equal((await node.put('/home/after.txt', 'x')).status, 201);
  await receiver.received(3);
  assert.deepEqual(
    receiver.events().map(({ id, data }) => data.path ?? id),
    ['20001', '/meanwhile.txt', '/after.txt'],
  );
});

test('a password change during a pause of Redis: 503 means unchanged, 500 and 204 mean changed', { timeout: 110_000 }, async (t) => {
  const begun = await startNodesOnRedis(t, 1, {
    group: { allow_own_password_change: true },
    server: { security_policy: { ban_after_failures: 0 } },
  });
  if (!begun) return;
  const { redis, nodes } = begun;
  const [node] = nodes as [TestNode];
  const { learnSecret, testPassword } = await import('../support/secrets.ts');
  const seen: string[] = [];
  let current = testPassword;
  for (const delayMs of [0, 5, 15, 30, 60, 120]) {
    const next = `${testPassword}-${delayMs}`;
    learnSecret(next, 'a test of password changes');
    const session = await node.login('alice', current);
    const changed = node.send('POST', '/home/__svc__/password-update', {
      user: null,
      mayFail: true,
      headers: { authorization: `session ${session}`, 'content-type': 'application/json' },
      body: JSON.stringify({ current_password: current, new_password: next }),
    });
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    redis.pause();
    const { status } = await changed;
    const isChanged = (await node.get('/home/', { user: `alice:${next}` })).status === 200;
    seen.push(`${status} ${isChanged ? 'changed' : 'unchanged'}`);
    if (isChanged) current = next;
    redis.resume();
    await until('Redis is back', async () => (await node.get('/home/', { headers: { authorization: 'session none' } })).status === 401);
  }
  for (const outcome of seen) assert.ok(['503 unchanged', '500 changed', '204 changed'].includes(outcome), seen.join(', '));
});
