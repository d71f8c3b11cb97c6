import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestRequest } from '../support/client.ts';
import { json, makeLink, orderLink, told, visit } from '../support/links.ts';
import { until } from '../support/receiver.ts';
import { startServer, type TestServer, testConfig } from '../support/server.ts';

function change(server: Pick<TestServer, 'send'>, id: string, body: unknown, options: TestRequest = {}) {
  const headers = { ...json, accept: 'application/json', ...options.headers };
  return server.send('PATCH', `/home/__svc__/links/${id}`, { ...options, headers, body: JSON.stringify(body) });
}

test('a changed link has its new lifetime, password, maximum and note at the same URL', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), 'a');
  const { id, at } = await makeLink(server, { path: '/a.txt', expires: 3600, maximum_downloads: 1, note: 'Old' });
  assert.equal((await visit(server, 'GET', at)).status, 200);
  assert.equal((await visit(server, 'GET', at)).status, 410, 'it is used up');
  const wanted = { expires: 7200, maximum_downloads: 3, note: 'New', password: 'a word' };
  const reply = await change(server, id, wanted);
  assert.equal(reply.status, 200, reply.text);
  const changed = reply.json<{ expires: string }>();
  assert.ok(Math.abs(Date.parse(changed.expires) - Date.now() - 7_200_000) < 60_000, changed.expires);
  const [listed] = (await server.get('/home/__svc__/links', { headers: { accept: 'application/json' } })).json<{ links: object[] }>().links;
  assert.deepEqual(changed, listed);
  assert.deepEqual(
    { ...changed, expires: 0, created: 0, last_used: 0, last_address: 0 },
    {
      id,
      kind: 'download',
      path: '/a.txt',
      note: 'New',
      created: 0,
      expires: 0,
      has_password: true,
      downloads: 1,
      maximum_downloads: 3,
      last_used: 0,
      last_address: 0,
      copyable: false,
    },
  );
  assert.equal((await visit(server, 'GET', at)).status, 401, 'visitors need the new password');
  assert.equal((await visit(server, 'GET', at, { user: 'x:a word' })).text, 'a');
  assert.equal((await change(server, id, { password: null, maximum_downloads: null })).status, 200);
  for (let count = 0; count < 5; count++) assert.equal((await visit(server, 'GET', at)).text, 'a');
  assert.equal((await change(server, id, {})).json<{ note: string }>().note, 'New', 'absent members stay the same');
  const events = (await told(server, 40087)).map(({ data }) => [
    data.link,
    data.path,
    data.maximum_downloads,
    data.has_password,
    data.note,
  ]);
  assert.deepEqual(events, [
    [id, '/a.txt', 3, true, 'New'],
    [id, '/a.txt', undefined, false, 'New'],
    [id, '/a.txt', undefined, false, 'New'],
  ]);
});

test('a shorter lifetime ends a link early, and a longer one keeps it beyond its first end', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), 'a');
  const [short, long] = [await makeLink(server, { path: '/a.txt' }), await makeLink(server, { path: '/a.txt', expires: 2 })];
  assert.equal((await change(server, long.id, { expires: 3600 })).status, 200);
  assert.equal((await change(server, short.id, { expires: 2 })).status, 200);
  await until('the short one has ended', async () => (await visit(server, 'GET', short.at)).status === 410);
  assert.equal((await visit(server, 'GET', long.at)).text, 'a');
  assert.equal((await change(server, short.id, { expires: 3600 })).status, 404, 'an ended link stays ended');
});

test('changes of links are refused without the right, for wrong values, beyond limits, from other origins and for other accounts', async (t) => {
  const config = { group: { links: { maximum_days: 30 } } };
  const server = await startServer(t, config);
  mkdirSync(join(server.home, 'in'));
  const [link, drop] = [await makeLink(server, { path: '/in' }), await makeLink(server, { path: '/in', kind: 'drop' })];
  for (const [id, body, status] of [
    [link.id, { expires: 31 * 86_400 }, 422],
    [link.id, { expires: 0 }, 422],
    [link.id, { expires: null }, 400],
    [link.id, { expires: '1d' }, 400],
    [link.id, { maximum_downloads: 0 }, 422],
    [link.id, { maximum_downloads: '3' }, 400],
    [drop.id, { maximum_downloads: 3 }, 422],
    [link.id, { password: '' }, 422],
    [link.id, { password: 1 }, 400],
    [link.id, { note: null }, 400],
    [link.id, { note: 'a\u0000b' }, 422],
    [link.id, { path: '/other' }, 400],
    [link.id, { kind: 'drop' }, 400],
    [link.id, [], 400],
    ['unknown', {}, 404],
  ] as const)
    assert.equal((await change(server, id, body)).status, status, JSON.stringify(body));
  assert.equal((await change(server, link.id, { note: 'x' }, { headers: { origin: 'https://evil.example' } })).status, 400);
  assert.equal((await change(server, link.id, {}, { user: null })).status, 401);
  assert.equal((await server.send('PATCH', `/home/__svc__/links/${link.id}`, { body: 'note=x' })).status, 415);
  assert.deepEqual(await told(server, 40087), []);
  const locked = { group: { links: { require_password: true } } };
  await server.service.reload(await testConfig(server.folder, locked));
  assert.equal((await change(server, link.id, { password: null })).status, 422, 'the group requires a password');
  await server.service.reload(await testConfig(server.folder, { group: { permissions: [['allow-read', 'allow-list']] } }));
  assert.equal((await change(server, link.id, { note: 'x' })).status, 403);
});

test('a link that a token created never outlives that token, and other tokens cannot change it', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), 'a');
  const order = (expires: number) =>
    server.send('POST', '/home/__svc__/tokens', { headers: json, body: JSON.stringify({ name: 'ci', expires }) });
  const [token, other] = [await order(3600), await order(3600)].map((reply) => reply.json<{ token: string; expires: string }>());
  const bearer = (secret = '') => ({ user: null, headers: { authorization: `Bearer ${secret}` } });
  const { id } = (await orderLink(server, { path: '/a.txt', expires: 60 }, bearer(token?.token))).json<{ id: string }>();
  const reply = await change(server, id, { expires: 86_400 }, bearer(token?.token));
  assert.equal(reply.json<{ expires: string }>().expires, token?.expires);
  assert.equal((await change(server, id, { note: 'x' }, bearer(other?.token))).status, 404);
});
