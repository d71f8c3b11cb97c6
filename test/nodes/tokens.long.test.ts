import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeLink, visit } from '../support/links.ts';
import { startNodesOnRedis, type TestNode } from '../support/nodes.ts';
import { until } from '../support/receiver.ts';
import { bearer, makeToken } from '../support/tokens.ts';

test('a token or link that is revoked at one node is invalid at the other, even after Redis was absent or emptied', {
  timeout: 110_000,
}, async (t) => {
  const started = await startNodesOnRedis(t, 2, {});
  if (!started) return;
  const { redis } = started;
  const [first, second] = started.nodes as [TestNode, TestNode];
  writeFileSync(join(started.folder, 'home/a.txt'), 'a');
  const [kept, revoked] = [await makeToken(first), await makeToken(first)];
  const [link, over] = [await makeLink(first, { path: '/a.txt' }), await makeLink(first, { path: '/a.txt' })];
  const get = (node: TestNode, token: string) => node.get('/home/a.txt', bearer(token));
  for (const node of [first, second]) assert.equal((await get(node, revoked.token)).text, 'a');
  assert.equal((await first.send('DELETE', `/home/__svc__/tokens/${revoked.id}`)).status, 204);
  assert.equal((await first.send('DELETE', `/home/__svc__/links/${over.id}`)).status, 204);
  assert.equal((await get(second, revoked.token)).status, 401, 'the revocation holds immediately');
  assert.equal((await visit(second, 'GET', over.at)).status, 410);

  await redis.kill();
  for (const node of [first, second]) {
    await until('the node fails closed', async () => (await get(node, kept.token)).status === 503);
    assert.equal((await get(node, revoked.token)).status, 503);
    assert.equal((await visit(node, 'GET', link.at)).status, 503);
  }
  await redis.restart();
  for (const node of [first, second]) await until('the node is back', async () => (await get(node, kept.token)).status === 200);

  await redis.command('FLUSHALL');
  for (const node of [first, second]) {
    await until('the node is back', async () => (await get(node, kept.token)).status === 200);
    assert.equal((await get(node, revoked.token)).status, 401, 'the token is still revoked');
    assert.equal((await visit(node, 'GET', over.at)).status, 410);
    await until('the other link is still valid', async () => (await visit(node, 'GET', link.at)).status === 200);
  }
});
