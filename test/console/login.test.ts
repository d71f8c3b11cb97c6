import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asOperator, asViewer, cookieOf, operatorPassword, startConsole, viewerPassword } from '../support/console.ts';
import { testPassword, testUser } from '../support/secrets.ts';

test('a login starts a session; a logout ends it; Basic needs no session', async (t) => {
  const { console } = await startConsole(t);
  const reply = await console.post('/api/login', { username: 'olga', password: operatorPassword }, { headers: { origin: console.url } });
  assert.deepEqual([reply.status, reply.json()], [200, { name: 'olga', role: 'operator' }]);
  assert.match(String(reply.headers['set-cookie']), /^svc_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  const headers = { cookie: cookieOf(reply), origin: console.url };
  assert.deepEqual((await console.get('/api/me', { headers })).json(), { name: 'olga', role: 'operator' });
  const out = await console.send('POST', '/api/logout', { headers });
  assert.deepEqual([out.status, cookieOf(out)], [204, 'svc_console=']);
  const after = await console.get('/api/me', { headers });
  assert.deepEqual([after.status, after.headers['www-authenticate']], [401, 'session']);
  assert.deepEqual((await console.get('/api/me', asViewer)).json(), { name: 'vera', role: 'viewer' });
  assert.match(String((await console.get('/api/me', { user: 'vera:wrong' })).headers['www-authenticate']), /^Basic /);
});

test('only administrators are let in: no file accounts, no sessions of a file service', async (t) => {
  const { server, console } = await startConsole(t);
  const login = await console.post('/api/login', { username: 'alice', password: testPassword });
  assert.deepEqual([login.status, login.json<{ errors: [{ code: string }] }>().errors[0].code], [401, 'unauthorized']);
  assert.equal((await console.get('/api/overview', { user: testUser })).status, 401);
  const session = await server.login();
  for (const headers of [
    { authorization: `session ${session}` },
    { cookie: `svc_console=${session}` },
    { cookie: `SVC_HTTP_SESSION=${session}` },
  ])
    assert.equal((await console.get('/api/overview', { headers })).status, 401);
  assert.equal((await server.get('/home/', asOperator)).status, 401);
});

test('each accepted or refused login is event 20190, with name, outcome and method', async (t) => {
  const { server, console } = await startConsole(t);
  await console.session();
  await console.session('vera', viewerPassword);
  await console.post('/api/login', { username: 'olga', password: 'wrong' });
  await console.get('/api/me', asOperator);
  const logins = (await server.events())
    .filter(({ id }) => id === '20190')
    .map(({ data: { administrator, outcome, way } }) => [administrator, outcome, way]);
  assert.deepEqual(logins, [
    ['olga', 'accepted', 'password'],
    ['vera', 'accepted', 'password'],
    ['olga', 'refused', 'password'],
    ['olga', 'accepted', 'basic'],
  ]);
});
