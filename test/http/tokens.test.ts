import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeSecret } from '../../src/lib/secrets.ts';
import type { TestRequest } from '../support/client.ts';
import { cheapHash } from '../support/passwords.ts';
import { basicOf, testPassword } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { askForToken, bearer, makeToken } from '../support/tokens.ts';

const json = { accept: 'application/json' };

/** Creates folders, each with a file. */
function makeFolders({ home }: Pick<TestServer, 'home'>): void {
  for (const name of ['in', 'out', 'in/deep', 'inside']) mkdirSync(join(home, name));
  for (const name of ['in/a.txt', 'out/secret.txt', 'inside/b.txt', 'in/deep/c.txt']) writeFileSync(join(home, name), name);
}

async function namesOf(server: TestServer, target: string, by: TestRequest): Promise<string[]> {
  const reply = await server.get(target, { ...by, headers: { ...by.headers, ...json } });
  assert.equal(reply.status, 200, reply.text);
  return reply.json<{ content: { name: string }[] }>().content.map(({ name }) => name);
}

test('a token works as bearer, over Basic and for a login; it is shown once, and never stored in clear text', async (t) => {
  const server = await startServer(t);
  makeFolders(server);
  const reply = await askForToken(server, { name: 'nightly', path: '/in', permissions: ['allow-read', 'allow-list'], expires: 3600 });
  assert.equal(reply.status, 201, reply.text);
  const made = reply.json<{ id: string; token: string; path: string; expires: string }>();
  assert.match(made.token, /^svc_t_[0-9A-Za-z]{49}$/);
  assert.equal(reply.headers.location, `/home/__svc__/tokens/${made.id}`);
  assert.equal(reply.headers['cache-control'], 'no-store');
  assert.equal(made.path, '/in');
  assert.ok(Math.abs(Date.parse(made.expires) - Date.now() - 3_600_000) < 60_000);
  for (const user of [`alice:${made.token}`, `token:${made.token}`])
    assert.equal((await server.get('/home/in/a.txt', { user })).text, 'in/a.txt');
  const as = bearer(made.token);
  assert.equal((await server.get('/home/in/a.txt', as)).text, 'in/a.txt');
  assert.equal((await server.put('/home/in/new.txt', 'x', as)).status, 403);
  const session = await server.login('alice', made.token);
  const bySession = { user: null, headers: { ...json, authorization: `session ${session}` } };
  assert.deepEqual(await namesOf(server, '/home/in/', bySession), ['a.txt', 'deep']);
  assert.equal((await server.get('/home/out/secret.txt', bySession)).status, 403);
  const listed = (await server.get('/home/__svc__/tokens', { headers: json })).json<{ tokens: Record<string, unknown>[] }>().tokens;
  assert.deepEqual(
    listed.map(({ id, name, permissions, token, last_address }) => [id, name, permissions, token, last_address]),
    [[made.id, 'nightly', ['allow-read', 'allow-list'], undefined, '127.0.0.1']],
  );
  const events = await server.events();
  const read = events.filter(({ data }) => data.path === '/in/a.txt' && data.token === made.id);
  assert.ok(read.length >= 3);
  const told = events.find(({ id }) => id === '40081');
  assert.deepEqual([told?.data.token, told?.data.path, told?.account.name], [made.id, '/in', 'alice']);
  const file = readFileSync(join(server.folder, 'data', 'tokens-and-links.ndjson'), 'utf8');
  assert.ok(file.includes(made.id) && !file.includes(made.token));
});

test('a token cannot leave its paths by symlinks, dots, case, lists, searches, archives, copies, moves, locks or the trash', async (t) => {
  const server = await startServer(t, { service: { webdav_compatibility: true }, group: { trash: { days: 1 } } });
  makeFolders(server);
  for (const [link, target] of [
    ['out', '../out'],
    ['up', '..'],
    ['secret.txt', '../out/secret.txt'],
    ['deeper', 'deep'],
  ])
    symlinkSync(target as string, join(server.home, 'in', link as string));
  const { as } = await makeToken(server, { path: '/in' });
  const header = (more: Record<string, string>) => ({ ...as, headers: { ...as.headers, ...more } });
  assert.deepEqual(await namesOf(server, '/home/in/', as), ['a.txt', 'deep', 'deeper']);
  assert.deepEqual(await namesOf(server, '/home/', as), ['in'], 'the folders above its path show nothing else');
  assert.equal((await server.get('/home/in/deeper/c.txt', as)).text, 'in/deep/c.txt');
  const outside = [
    '/home/out/secret.txt',
    '/home/inside/b.txt',
    '/home/IN/a.txt',
    '/home/in/out/secret.txt',
    '/home/in/up/out/secret.txt',
    '/home/in/secret.txt',
  ];
  for (const target of [...outside, '/home/in/../out/secret.txt', '/home/in/%2e%2e/out/secret.txt', '/home/in/..%2fout/secret.txt']) {
    const { status } = await server.get(target, as);
    assert.ok([400, 403, 404].includes(status), `${target}: ${status}`);
    assert.ok([400, 403, 404].includes((await server.send('PROPFIND', target, header({ depth: '0' }))).status), target);
  }
  for (const target of outside) {
    assert.ok([403, 404, 409].includes((await server.put(target, 'changed', as)).status) || target === '/home/in/secret.txt', target);
    assert.ok([403, 404].includes((await server.send('DELETE', target, as)).status) || target === '/home/in/secret.txt', target);
  }
  assert.equal(readFileSync(join(server.home, 'out/secret.txt'), 'utf8'), 'out/secret.txt', 'a link that leads out is itself replaced');
  const search = await server.get('/home/?search=txt', header({ accept: 'application/x-ndjson' }));
  assert.ok(!search.text.includes('secret') && !search.text.includes('b.txt') && search.text.includes('c.txt'), search.text);
  const zip = await server.get('/home/', header({ accept: 'application/zip' }));
  assert.ok(!zip.body.includes('secret') && !zip.body.includes('inside') && zip.body.includes('in/a.txt'));
  const moves = [
    ['COPY', '/home/in/a.txt', '/home/out/a.txt'],
    ['MOVE', '/home/in/a.txt', '/home/a.txt'],
    ['COPY', '/home/out/secret.txt', '/home/in/x'],
    ['MOVE', '/home/out', '/home/in/x'],
  ];
  for (const [method, from, destination] of moves)
    assert.equal((await server.send(method as string, from as string, header({ destination: destination as string }))).status, 403);
  assert.equal((await server.send('DELETE', '/home/in/', as)).status, 403, 'a token cannot delete the folder of its path');
  assert.ok(existsSync(join(server.home, 'in/a.txt')) && existsSync(join(server.home, 'out/secret.txt')));
  const office = header({ 'user-agent': 'Microsoft Office', 'content-type': 'application/xml' });
  const lock = '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
  assert.equal((await server.send('LOCK', '/home/out/secret.txt', { ...office, body: lock })).status, 403);
  assert.equal((await server.send('DELETE', '/home/out/secret.txt')).status, 204);
  const trash = await server.get('/home/__svc__/trash', header(json));
  assert.ok(!trash.text.includes('/out/'), trash.text);
  assert.equal((await server.send('DELETE', '/home/in/a.txt', as)).status, 204);
  const whole = (await server.get('/home/__svc__/trash', { headers: json })).json<{ trash: { path: string }[] }>().trash;
  assert.deepEqual(
    new Set(whole.map(({ path }) => path)),
    new Set(['/in/a.txt', '/in/secret.txt', '/out/secret.txt']),
    'items that the token deleted are in the trash of the account',
  );
});

test('a token never has more permissions than its account has now', async (t) => {
  const server = await startServer(t, {
    group: {
      permissions: [
        ['allow-read', 'allow-list', 'allow-create-token'],
        ['/out/*', 'allow-write'],
      ],
    },
  });
  makeFolders(server);
  const refused = await askForToken(server, { permissions: ['allow-delete-file'] });
  assert.equal(refused.status, 422, refused.text);
  assert.match(refused.text, /allow-delete-file/);
  const { as } = await makeToken(server, { permissions: ['allow-read', 'allow-write'] });
  assert.equal((await server.get('/home/in/a.txt', as)).status, 200);
  assert.equal((await server.get('/home/out/secret.txt', as)).status, 403, 'the rules of the account replace its general rights');
  assert.equal((await server.put('/home/out/new.txt', 'x', as)).status, 201);
  assert.equal((await server.put('/home/in/new.txt', 'x', as)).status, 403);
  assert.equal(
    (await server.get('/home/in/', { ...as, headers: { ...as.headers, ...json } })).status,
    403,
    'the token has no right to list',
  );
  const change = { current_password: testPassword, new_password: 'Another-1' };
  const session = await server.login('alice', (await makeToken(server)).token);
  const bySession = { user: null, headers: { authorization: `session ${session}`, 'content-type': 'application/json' } };
  assert.equal((await server.send('POST', '/home/__svc__/password-update', { ...bySession, body: JSON.stringify(change) })).status, 403);
});

test('requests for tokens are validated: permissions, limits, types', async (t) => {
  const server = await startServer(t, {
    group: { tokens: { maximum: 2, maximum_days: 1, services: ['web'] } },
    groups: {
      none: { home_folder_path: '/tmp', tokens: { enabled: false } },
      weak: { home_folder_path: '/tmp', permissions: [['allow-read', 'allow-share']] },
    },
    accounts: { bob: { group: 'none' }, carol: { group: 'weak' } },
  });
  const bad: [number, Record<string, unknown>][] = [
    [400, { name: 1 }],
    [400, { path: 5 }],
    [400, { path: [1] }],
    [400, { expires: '1d' }],
    [400, { addresses: '10.0.0.0/8' }],
    [400, { more: true }],
    [400, { permissions: 'allow-read' }],
    [422, { path: 'in' }],
    [422, { path: '/a/../b' }],
    [422, { path: [] }],
    [422, { permissions: ['allow-everything'] }],
    [422, { permissions: ['deny-full-control'] }],
    [422, { expires: 0 }],
    [422, { expires: 86_401 }],
    [422, { addresses: ['10.0.0.0/99'] }],
    [422, { services: ['sftp'] }],
    [422, { name: 'a\nb' }],
    [422, { not_before: 100, expires: 50 }],
  ];
  for (const [status, order] of bad) {
    const reply = await askForToken(server, order);
    assert.equal(reply.status, status, `${JSON.stringify(order)}: ${reply.text}`);
  }
  assert.equal(
    (await server.send('POST', '/home/__svc__/tokens', { body: 'name=x', headers: { 'content-type': 'text/plain' } })).status,
    415,
  );
  for (let count = 0; count < 2; count++) await makeToken(server);
  assert.equal((await askForToken(server, {})).status, 429);
  const shown = (await server.get('/home/__svc__/tokens', { headers: json })).json<{ tokens: { id: string; expires: string }[] }>().tokens;
  assert.ok(
    Date.parse(shown[0]?.expires ?? '') - Date.now() <= 86_400_000,
    'a token without an expiry gets the longest lifetime of the group',
  );
  assert.equal((await server.send('PUT', '/home/__svc__/tokens')).status, 405);
  assert.equal((await server.send('DELETE', '/home/__svc__/tokens/unknown')).status, 404);
});

test('making a token gets 422 for permissions that the account lacks, and 403 without the right; unset members are null', async (t) => {
  const server = await startServer(t, {
    group: {
      permissions: [
        ['allow-read', 'allow-list'],
        ['/in*', 'allow-read', 'allow-list', 'allow-create-token'],
        ['/closed*', 'deny-full-control'],
      ],
    },
    groups: { none: { permissions: [['allow-read', 'allow-list']] } },
    accounts: { bob: { group: 'none', home_folder_path: '/tmp', password: await cheapHash(testPassword) } },
  });
  makeFolders(server);
  const statusOf = async (order: Record<string, unknown>, by: TestRequest = {}) => (await askForToken(server, order, by)).status;
  assert.equal(await statusOf({}), 403, 'the account has no right to make tokens at /');
  assert.equal(await statusOf({ path: '/out' }), 403, 'the account may read there, but not make tokens');
  assert.equal(await statusOf({ path: '/closed' }), 422, 'the account itself has no rights there');
  assert.equal(await statusOf({ path: ['/in', '/closed'] }), 422);
  assert.equal(await statusOf({ path: '/in', permissions: ['allow-write'] }), 422);
  assert.equal(await statusOf({ path: '/in' }, { user: `bob:${testPassword}` }), 403);
  const { as } = await makeToken(server, { path: '/in' });
  assert.equal(await statusOf({ path: '/out' }, as), 422, 'beyond the path of the token that makes it');
  assert.equal(await statusOf({ path: '/' }, as), 422);
  const made = (await askForToken(server, { path: '/in' })).json<Record<string, unknown>>();
  const { tokens } = (await server.get('/home/__svc__/tokens', { headers: json })).json<{ tokens: Record<string, unknown>[] }>();
  const members = [
    'id',
    'name',
    'path',
    'permissions',
    'created',
    'not_before',
    'expires',
    'addresses',
    'services',
    'last_used',
    'last_address',
  ];
  assert.deepEqual(Object.keys(tokens[0] ?? {}), members);
  assert.deepEqual(tokens[0], { ...Object.fromEntries(Object.entries(made).filter(([name]) => name !== 'token')) });
  for (const name of ['permissions', 'not_before', 'addresses', 'services', 'last_used', 'last_address'])
    assert.equal(made[name], null, name);
});

test('an anonymous client cannot create tokens, even with all permissions', async (t) => {
  const server = await startServer(t, {
    authentications: { local: { type: 'application' }, open: { type: 'anonymous', group: 'visitors' } },
    groups: { visitors: { home_folder_path: '/tmp' } },
  });
  assert.equal((await askForToken(server, {}, { user: null })).status, 403);
  assert.equal((await server.get('/home/__svc__/tokens', { user: null, headers: json })).status, 403);
});

test('a revoked token ends immediately, with its sessions and the tokens made with it; only its holder is told why', async (t) => {
  const server = await startServer(t);
  makeFolders(server);
  const parent = await makeToken(server, { path: '/in' });
  const child = await makeToken(server, { path: '/in/deep', expires: 600 }, parent.as);
  const wider = await askForToken(server, { path: '/out' }, parent.as);
  assert.equal(wider.status, 422, wider.text);
  const heir = (await askForToken(server, {}, parent.as)).json<{ path: string }>();
  assert.equal(heir.path, '/in', 'a token that was made with another token has the path of that other token');
  assert.equal((await server.get('/home/in/deep/c.txt', child.as)).status, 200);
  assert.equal(
    (await server.send('DELETE', `/home/__svc__/tokens/${parent.id}`, child.as)).status,
    404,
    'a token can only revoke tokens that it made',
  );
  const session = { user: null, headers: { authorization: `session ${await server.login('token', parent.token)}` } };
  assert.equal((await server.get('/home/in/a.txt', session)).status, 200);
  assert.equal((await server.send('DELETE', `/home/__svc__/tokens/${parent.id}`)).status, 204);
  for (const request of [parent.as, child.as, session, { user: `alice:${parent.token}` }])
    assert.equal((await server.get('/home/in/deep/c.txt', request)).status, 401);
  const told = await server.get('/home/in/a.txt', parent.as);
  assert.match(told.text, /The token was revoked/);
  assert.match(
    String(told.headers['www-authenticate']),
    /Bearer realm="[^"]+", error="invalid_token", error_description="The token was revoked\."/,
  );
  assert.match(String(told.headers['www-authenticate']), /^basic realm=/);
  const stranger = await server.get('/home/in/a.txt', bearer(makeSecret('token').secret));
  assert.match(String(stranger.headers['www-authenticate']), /error="invalid_token"/);
  assert.doesNotMatch(stranger.text, /revoked/);
  const events = await server.events();
  const ended = events.filter(({ id }) => id === '40082').map(({ data }) => [data.token, data.reason]);
  assert.deepEqual(new Set(ended.map(([id]) => id)), new Set([parent.id, child.id, (heir as unknown as { id: string }).id]));
  assert.ok(ended.every(([, reason]) => reason === 'revoked'));
  assert.ok(events.some(({ id, data }) => id === '40086' && data.token === parent.id && data.reason === 'revoked'));
});

test('a token is valid only from its addresses, at its services and after its start; rotation ends the old token', async (t) => {
  const server = await startServer(t, { services: { web: { type: 'http', port: 0 }, other: { type: 'http', port: 0 } } });
  const elsewhere = await makeToken(server, { addresses: ['192.0.2.0/24'] });
  assert.match((await server.get('/home/', elsewhere.as)).text, /not valid from this address/);
  const other = await makeToken(server, { services: ['other'] });
  assert.match((await server.get('/home/', other.as)).text, /not valid at this service/);
  const later = await makeToken(server, { not_before: 60 });
  assert.match((await server.get('/home/', later.as)).text, /not valid yet/);
  assert.equal((await server.get('/home/', { user: `bob:${other.token}` })).status, 401);
  const first = await makeToken(server, { name: 'ci', permissions: ['allow-read', 'allow-list', 'allow-create-token'] });
  const rotate = (id: string, body: unknown, as = {}) =>
    server.send('POST', `/home/__svc__/tokens/${id}/rotate`, {
      ...as,
      body: JSON.stringify(body),
      headers: { ...(as as { headers?: object }).headers, 'content-type': 'application/json' },
    });
  const overlapping = await rotate(first.id, { overlap: 60 }, first.as);
  assert.equal(overlapping.status, 201, overlapping.text);
  const second = overlapping.json<{ id: string; token: string; name: string }>();
  assert.equal(second.name, 'ci');
  for (const token of [first.token, second.token]) assert.equal((await server.get('/home/', { ...bearer(token) })).status, 200);
  const third = (await rotate(second.id, {})).json<{ token: string }>();
  assert.match((await server.get('/home/', bearer(second.token))).text, /The token was rotated/);
  assert.equal((await server.get('/home/', bearer(third.token))).status, 200);
  assert.equal((await rotate(second.id, {})).status, 404);
});

test('guessed tokens ban the address that sends them; a mistyped token and other text do not count', async (t) => {
  const server = await startServer(t, { server: { security_policy: { ban_after_failures: 3 } } });
  const { token, as } = await makeToken(server);
  const mistyped = `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`;
  assert.equal((await server.get('/home/', { user: `alice:${mistyped}` })).status, 401);
  assert.equal((await server.get('/home/', bearer('not-a-token'))).status, 401);
  for (let guess = 0; guess < 3; guess++) await server.get('/home/', { user: `alice:${makeSecret('token').secret}` });
  assert.equal((await server.get('/home/', bearer(makeSecret('token').secret))).status, 429);
  assert.equal((await server.get('/home/', { headers: { authorization: basicOf('alice:wrong') } })).status, 429);
  assert.equal((await server.get('/home/', as)).status, 429, 'a banned address is refused before its token is looked at');
});
