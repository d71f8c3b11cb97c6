import assert from 'node:assert/strict';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeSecret } from '../../src/lib/secrets.ts';
import type { TestRequest } from '../support/client.ts';
import { json, makeLink, page, told, visit } from '../support/links.ts';
import { basicOf, testPassword } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { startSsh } from '../support/ssh.ts';
import { askForToken, bearer, makeToken } from '../support/tokens.ts';

type Given = { authorization?: string; range?: string; 'want-repr-digest'?: string };

/** Returns the status of a GET from an address of this machine, and closes the connection. */
function getFrom({ port }: TestServer, localAddress: string, path: string, headers: Given = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ hostname: '127.0.0.1', port, path, headers, localAddress, agent: false }, ({ statusCode = 0 }) => {
      asked.destroy();
      resolve(statusCode);
    });
    asked.on('error', reject).end();
  });
}

test('guesses at links ban no logins, and guesses at tokens do not delay a valid token from another address', async (t) => {
  const server = await startServer(t, { server: { security_policy: { ban_after_failures: 10 } } });
  writeFileSync(join(server.home, 'a.txt'), 'a');
  const { token } = await makeToken(server);
  const { at } = await makeLink(server, { path: '/a.txt', password: 'right word' });
  // Any web page or mail can make the browsers of an office send these requests.
  for (let guess = 0; guess < 10; guess++)
    assert.equal(await getFrom(server, '127.0.0.2', `/__svc__/s/${makeSecret('link').secret}/`), 404);
  assert.equal(await getFrom(server, '127.0.0.2', `/__svc__/s/${makeSecret('link').secret}/`), 429);
  assert.equal(await getFrom(server, '127.0.0.3', `/__svc__/s/${makeSecret('link').secret}/`), 404, 'guesses of others count separately');
  const password = basicOf(`alice:${testPassword}`);
  assert.equal(
    await getFrom(server, '127.0.0.2', '/home/a.txt', { authorization: password }),
    200,
    'a login from the address that guessed works',
  );
  for (let guess = 0; guess < 10; guess++)
    await getFrom(server, '127.0.0.4', '/home/', { authorization: `Bearer ${makeSecret('token').secret}` });
  assert.equal(await getFrom(server, '127.0.0.4', '/home/', { authorization: password }), 429);
  assert.equal(await getFrom(server, '127.0.0.5', '/home/a.txt', { authorization: `Bearer ${token}` }), 200);
  assert.equal(await getFrom(server, '127.0.0.4', at, { authorization: basicOf('x:right word') }), 200, 'the ban does not close links');
});

test('a token that is sent as the user name is shown nowhere', async (t) => {
  const server = await startSsh(t, {}, { server: { security_policy: { ban_after_failures: 3 } } });
  const { token } = await makeToken(server);
  for (const word of ['', 'x-oauth-basic', token, 'y'])
    assert.ok([401, 429].includes((await server.get('/home/', { user: `${token}:${word}` })).status));
  const body = `username=${token}&password=x`;
  const form = { ...page, 'content-type': 'application/x-www-form-urlencoded' };
  const shown = await server.send('POST', '/__svc__/login', { user: null, headers: form, body });
  assert.ok(!shown.text.includes(token));
  await assert.rejects(loginSftp(t, server.sshPort, { username: token, password: 'x' }));
  const events = await told(server, 20021, 20005);
  assert.ok(events.some(({ data }) => data.username === 'svc_t_***'));
  assert.ok(!JSON.stringify(await server.events()).includes(token));
});

test('the number of rotations is limited, and an endless overlap is cut to a year', async (t) => {
  const server = await startServer(t, { group: { tokens: { maximum: 2 } } });
  const { id, as } = await makeToken(server);
  const rotate = (old: string, overlap: number) =>
    server.send('POST', `/home/__svc__/tokens/${old}/rotate`, { headers: json, body: JSON.stringify({ overlap }) });
  const first = await rotate(id, 1e300);
  assert.equal(first.status, 201, first.text);
  assert.equal((await server.get('/home/', as)).status, 200);
  const [ended] = await told(server, 40082);
  assert.ok(Date.parse(String(ended?.data.expires)) <= Date.now() + 366 * 86_400_000);
  const statuses = [];
  for (let more = 0; more < 3; more++) statuses.push((await rotate(id, 1e6)).status);
  assert.deepEqual(statuses, [201, 201, 429], 'each token may have a successor');
  assert.equal((await askForToken(server, { path: Array.from({ length: 100 }, (_, at) => `/${at}/${'x'.repeat(200)}`) })).status, 422);
});

test('a token for a folder neither releases nor refreshes a lock above the folder', async (t) => {
  const server = await startServer(t, { service: { webdav_compatibility: true } });
  mkdirSync(join(server.home, 'in'));
  writeFileSync(join(server.home, 'in/a.txt'), 'a');
  const office = { 'user-agent': 'Microsoft Office', 'content-type': 'application/xml' };
  const body = '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
  const lockToken = async (target: string, options: TestRequest = {}) =>
    String((await server.send('LOCK', target, { ...options, headers: { ...office, ...options.headers }, body })).headers['lock-token']);
  const whole = await lockToken('/home/');
  const { as } = await makeToken(server, { path: '/in' });
  const by = (headers: Record<string, string>) => ({ ...as, headers: { ...as.headers, ...office, ...headers } });
  assert.equal((await server.send('UNLOCK', '/home/in/a.txt', by({ 'lock-token': whole }))).status, 409);
  assert.equal((await server.send('LOCK', '/home/in/a.txt', by({ if: `(${whole})` }))).status, 412);
  assert.equal((await server.put('/home/x', 'x')).status, 423, 'the lock still holds');
  assert.equal((await server.send('UNLOCK', '/home/', { headers: { ...office, 'lock-token': whole } })).status, 204);
  const own = await lockToken('/home/in/', by({}));
  assert.equal((await server.send('UNLOCK', '/home/in/', by({ 'lock-token': own }))).status, 204);
});

test('visitors use up the limit of their own unfinished uploads, not that of the account', async (t) => {
  const server = await startServer(t, { server: { uploads: { maximum_per_account: 2 } } });
  mkdirSync(join(server.home, 'in'));
  const { at } = await makeLink(server, { path: '/in', kind: 'drop' });
  const begin = (name: string) => ({
    headers: { 'tus-resumable': '1.0.0', 'upload-length': '3', 'upload-metadata': `filename ${Buffer.from(name).toString('base64')}` },
  });
  const statuses = [];
  for (const name of ['a', 'b', 'c']) statuses.push((await visit(server, 'POST', `${at}uploads/`, begin(name))).status);
  assert.deepEqual(statuses, [201, 201, 429]);
  const draft = { 'upload-draft-interop-version': '6', 'upload-complete': '?0' };
  const own = await server.put('/home/in/own', 'x', { headers: draft });
  assert.equal(own.status, 201);
  const id = String(own.headers.location).split('/').at(-1);
  for (const method of ['HEAD', 'DELETE'])
    assert.equal((await visit(server, method, `${at}uploads/${id}`, { headers: draft })).status, 404, `${method} of the upload of alice`);
});

test('of many digests that visitors of a link request, some get 503; a digest for the account is not delayed', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'large'), '');
  truncateSync(join(server.home, 'large'), 8 * 1024 ** 3);
  const { at } = await makeLink(server, { path: '/large' });
  const given = { range: 'bytes=1-1', 'want-repr-digest': 'sha-256=1' };
  const asked = Array.from({ length: 12 }, () => request({ port: server.port, path: `${at}large`, headers: given, agent: false }));
  const busy = new Promise((resolve) => {
    for (const one of asked) one.on('response', ({ statusCode }) => resolve(statusCode)).on('error', () => {});
  });
  for (const one of asked) one.end();
  assert.equal(await busy, 503);
  assert.equal(await getFrom(server, '127.0.0.1', '/home/large', { authorization: basicOf(`alice:${testPassword}`) }), 200);
  for (const one of asked) one.destroy();
});

test('no referrer leaks the URL of a mistyped link; with a public https URL the cookie is Secure', async (t) => {
  const server = await startServer(t, { service: { public_url: 'https://files.example' } });
  writeFileSync(join(server.home, 'a.txt'), 'a');
  const { at } = await makeLink(server, { path: '/a.txt', password: 'a word' });
  for (const wrong of ['%', '%00', '..%2f', '%2e%2e/', '?x#y']) {
    const reply = await visit(server, 'GET', at + wrong, { headers: page });
    assert.deepEqual([reply.status, reply.headers['referrer-policy']], [400, 'no-referrer'], wrong);
    assert.match(String(reply.headers['x-robots-tag']), /noindex/);
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const opened = await visit(server, 'POST', at, { headers: form, body: 'password=a+word' });
  assert.match(String(opened.headers['set-cookie']), /; SameSite=Lax; Secure$/);
  assert.equal((await server.get('/home/a.txt', bearer('x'))).status, 401);
});
