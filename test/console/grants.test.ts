import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asOperator, asViewer, startConsole } from '../support/console.ts';
import { bearer, makeToken } from '../support/tokens.ts';

test('the console lists tokens and revokes them; a viewer cannot revoke, and no token logs in to the console', async (t) => {
  const { console, server } = await startConsole(t);
  const { id, token } = await makeToken(server, { name: 'ci', path: '/in' });
  const { items, total } = (await console.send('GET', '/api/tokens?account=alice', asOperator)).json<{
    items: Record<string, unknown>[];
    total: number;
  }>();
  assert.deepEqual([total, items[0]?.id, items[0]?.account, items[0]?.path, items[0]?.by], [1, id, 'alice', '/in', 'alice']);
  assert.ok(!JSON.stringify(items).includes(token));
  assert.equal((await console.send('GET', '/api/tokens', bearer(token))).status, 401);
  assert.equal((await console.post('/api/tokens/revoke', { ids: [id] }, asViewer)).status, 403);
  const reply = await console.post('/api/tokens/revoke', { ids: [id, 'unknown'] }, asOperator);
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(reply.json(), { revoked: [id] });
  assert.equal((await server.get('/home/', bearer(token))).status, 401);
  assert.equal((await console.send('GET', '/api/links', asOperator)).json<{ total: number }>().total, 0);
});
