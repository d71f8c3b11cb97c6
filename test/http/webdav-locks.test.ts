import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestReply } from '../support/client.ts';
import { cheapHash } from '../support/passwords.ts';
import { testBasic, testPassword, testUser } from '../support/secrets.ts';
import { startServer, type TestConfig, type TestServer } from '../support/server.ts';
import { parseMultistatus, propBody, propfind } from '../support/webdav.ts';

const finder = { 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.6.0 (x86_64)' };
const agents = [
  finder['user-agent'],
  'WebDAVLib/1.3',
  'Microsoft-WebDAV-MiniRedir/10.0.19045',
  'Microsoft Office Word 2014',
  'Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
  'Microsoft Data Access Internet Publishing Provider DAV 1.1',
];
const on: TestConfig = { service: { webdav_compatibility: true } };

function lockBody(scope = 'exclusive', owner = '<D:owner><D:href>mailto:alice@example.com</D:href></D:owner>'): string {
  return `<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype>${owner}</D:lockinfo>`;
}

function lock(server: TestServer, target: string, headers: Record<string, string> = {}, user = testUser): Promise<TestReply> {
  return server.send('LOCK', target, { user, body: lockBody(), headers: { ...finder, depth: '0', ...headers } });
}

function tokenOf(reply: TestReply): string {
  const token = /^<([^>]+)>$/.exec(String(reply.headers['lock-token']))?.[1];
  assert.ok(token, reply.text);
  return token;
}

test('without webdav_compatibility, no client finds a sign of locks', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), '');
  for (const agent of agents) {
    const headers = { 'user-agent': agent };
    const options = await server.send('OPTIONS', '/home/a', { headers });
    assert.deepEqual([options.status, options.headers.dav], [204, '1']);
    assert.ok(!String(options.headers.allow).includes('LOCK'));
    assert.equal((await server.send('LOCK', '/home/a', { headers, body: lockBody() })).status, 405);
    assert.equal((await server.send('UNLOCK', '/home/a', { headers: { ...headers, 'lock-token': '<x:y>' } })).status, 405);
    assert.equal((await server.send('MKCOL', '/home/n', { headers })).status, 405);
    assert.equal((await server.send('PROPPATCH', '/home/a', { headers })).status, 403);
    assert.ok(!(await propfind(server, '/home/a', '0', '', { headers })).reply.text.includes('lock'));
  }
});

test('with webdav_compatibility, class 2 is offered only to the programs that need it', async (t) => {
  const server = await startServer(t, on);
  writeFileSync(join(server.home, 'a'), '');
  for (const agent of agents) {
    const options = await server.send('OPTIONS', '/home/a', { headers: { 'user-agent': agent }, user: null });
    assert.deepEqual([options.status, options.headers.dav], [200, '1, 2'], agent);
    assert.match(String(options.headers.allow), /LOCK, UNLOCK/);
  }
  for (const agent of ['rclone/v1.60', 'gvfs/1.50', 'Mozilla/5.0 WebDAVFS/1', '']) {
    const headers = { 'user-agent': agent };
    assert.equal((await server.send('OPTIONS', '/home/a', { headers })).headers.dav, '1', agent);
    assert.equal((await server.send('LOCK', '/home/a', { headers, body: lockBody() })).status, 405, agent);
    assert.ok(!(await propfind(server, '/home/a', '0', '', { headers })).reply.text.includes('lock'));
  }
});

test('with webdav_compatibility, MKCOL accepts URLs without a slash, and PROPPATCH answers 207 with a 403 for each property', async (t) => {
  const server = await startServer(t, on);
  assert.equal((await server.send('MKCOL', '/home/n')).status, 201);
  assert.deepEqual(readdirSync(server.home), ['n']);
  assert.equal((await server.send('MKCOL', '/home/n')).status, 405);
  const body =
    '<D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop><Z:Win32FileAttributes>00000020</Z:Win32FileAttributes></D:prop></D:set><D:remove><D:prop><D:displayname/></D:prop></D:remove></D:propertyupdate>';
  const reply = await server.send('PROPPATCH', '/home/n', { body });
  assert.equal(reply.status, 207);
  assert.deepEqual(parseMultistatus(reply.text), [
    { href: '/home/n/', found: {}, missing: { '{urn:schemas-microsoft-com:}Win32FileAttributes': 403, '{DAV:}displayname': 403 } },
  ]);
  for (const bad of ['', 'x', '<propfind xmlns="DAV:"/>', '<propertyupdate xmlns="DAV:"/>'])
    assert.equal((await server.send('PROPPATCH', '/home/n', { body: bad })).status, 400, bad);
  assert.equal((await server.send('PROPPATCH', '/home/none', { body })).status, 404);
  assert.ok((await server.eventIds()).includes(40066));
});

test('DELETE and MOVE of a folder without the slash of its URL work with webdav_compatibility, and otherwise get a redirect', async (t) => {
  for (const [config, move, remove] of [
    [{}, 307, 307],
    [on, 201, 204],
  ] as const) {
    const server = await startServer(t, config);
    mkdirSync(join(server.home, 'd/sub'), { recursive: true });
    mkdirSync(join(server.home, 'gone/sub'), { recursive: true });
    const moved = await server.send('MOVE', '/home/d', { headers: { destination: '/home/e' } });
    assert.deepEqual([moved.status, moved.headers.location], [move, move === 307 ? '/home/d/' : '/home/e/']);
    assert.equal((await server.send('DELETE', '/home/gone')).status, remove);
    assert.deepEqual(readdirSync(server.home), move === 307 ? ['d', 'gone'] : ['e']);
  }
});

test('a lock is granted, shown, refreshed and ended', async (t) => {
  const server = await startServer(t, on);
  writeFileSync(join(server.home, 'a'), 'A');
  const granted = await lock(server, '/home/a', { timeout: 'Infinite, Second-4100000000' });
  assert.equal(granted.status, 200);
  const token = tokenOf(granted);
  assert.match(granted.text, /<D:timeout>Second-3600<\/D:timeout>/, 'every lock expires');
  assert.match(granted.text, /<D:owner><D:href>mailto:alice@example\.com<\/D:href><\/D:owner>/);
  assert.match(granted.text, /<D:lockroot><D:href>\/home\/a<\/D:href><\/D:lockroot>/);
  const shown = await propfind(server, '/home/', '1', propBody('lockdiscovery', 'supportedlock'), { headers: finder });
  assert.equal(shown.reply.text.split(token).length - 1, 1, 'the lock is shown only at the file');
  const refreshed = await server.send('LOCK', '/home/a', { headers: { ...finder, if: `(<${token}>)`, timeout: 'Second-60' } });
  assert.equal(refreshed.status, 200);
  assert.match(refreshed.text, /Second-60</);
  assert.equal((await server.send('LOCK', '/home/a', { headers: finder })).status, 412, 'a refresh without a token is refused');
  assert.equal((await server.send('LOCK', '/home/a', { headers: { ...finder, if: '(<urn:x:y>)' } })).status, 412);
  assert.equal((await server.send('UNLOCK', '/home/a', { headers: finder })).status, 400);
  assert.equal((await server.send('UNLOCK', '/home/a', { headers: { ...finder, 'lock-token': '<urn:x:y>' } })).status, 409);
  assert.equal((await server.send('UNLOCK', '/home/a', { headers: { ...finder, 'lock-token': `<${token}>` } })).status, 204);
  assert.equal((await server.put('/home/a', 'free')).status, 201);
});

test('invalid or forbidden LOCK requests are refused, and leave no lock', async (t) => {
  const server = await startServer(t, { ...on, group: { permissions: [['allow-full-control'], ['/ro*', 'allow-read', 'allow-list']] } });
  writeFileSync(join(server.home, 'a'), '');
  writeFileSync(join(server.home, 'ro'), '');
  const status = async (target: string, body: string, headers: Record<string, string> = {}) =>
    (await server.send('LOCK', target, { body, headers: { ...finder, ...headers } })).status;
  assert.equal(await status('/home/a', lockBody('shared')), 422);
  assert.equal(await status('/home/a', lockBody(), { depth: '1' }), 400);
  assert.equal(await status('/home/a', '<x'), 400);
  assert.equal(await status('/home/a', '<lockinfo xmlns="DAV:"/>'), 400);
  assert.equal(await status('/home/a', propBody('displayname')), 400);
  assert.equal(await status('/home/ro', lockBody()), 403);
  assert.equal(await status('/home/none/a', lockBody()), 409);
  assert.equal(await status('/home/none/', lockBody()), 409);
  assert.equal((await server.put('/home/a', 'x')).status, 201, 'none of the refused requests left a lock');
});

test('LOCK of a free name creates an empty file that is locked', async (t) => {
  const server = await startServer(t, on);
  const reply = await lock(server, '/home/new');
  assert.equal(reply.status, 201);
  assert.equal(readFileSync(join(server.home, 'new'), 'utf8'), '');
  assert.deepEqual(await server.eventIds(), [40021, 40017]);
  assert.equal((await server.put('/home/new', 'x')).status, 423);
  assert.equal((await server.put('/home/new', 'x', { headers: { if: `(<${tokenOf(reply)}>)` } })).status, 201);
});

test('a lock applies to every method of every client, and its token works only for the account that holds it', async (t) => {
  const both = await startServer(t, { ...on, accounts: { bob: { password: await cheapHash(testPassword) } } });
  const { home } = both;
  for (const name of ['d', 'd/sub']) mkdirSync(join(home, name), { recursive: true });
  for (const name of ['a', 'd/m', 'free']) writeFileSync(join(home, name), name);
  const token = tokenOf(await lock(both, '/home/a'));
  const deep = tokenOf(await lock(both, '/home/d/', { depth: 'infinity' }));
  const form =
    '--x\r\nContent-Disposition: form-data; name="action"\r\n\r\nupload-file\r\n--x\r\nContent-Disposition: form-data; name="upload-file"; filename="a"\r\n\r\nnew\r\n--x--\r\n';
  const attempts: [string, string, Record<string, string>, string | undefined, number][] = [
    ['PUT', '/home/a', {}, 'new', 423],
    ['DELETE', '/home/a', {}, undefined, 423],
    ['MOVE', '/home/a', { destination: '/home/n' }, undefined, 423],
    ['MOVE', '/home/free', { destination: '/home/a' }, undefined, 423],
    ['COPY', '/home/free', { destination: '/home/a' }, undefined, 423],
    ['COPY', '/home/a', { destination: '/home/copy' }, undefined, 201],
    ['GET', '/home/a', {}, undefined, 200],
    ['PUT', '/home/d/m', {}, 'new', 423],
    ['PUT', '/home/d/new', {}, 'new', 423],
    ['PUT', '/home/d/f/', {}, undefined, 423],
    ['MKCOL', '/home/d/f/', {}, undefined, 423],
    ['DELETE', '/home/d/m', {}, undefined, 423],
    ['DELETE', '/home/d/sub/', {}, undefined, 423],
    ['DELETE', '/home/d/', {}, undefined, 423],
    ['MOVE', '/home/d/', { destination: '/home/e/' }, undefined, 423],
    ['MOVE', '/home/d/m', { destination: '/home/n' }, undefined, 423],
    ['MOVE', '/home/free', { destination: '/home/d/n' }, undefined, 423],
    ['POST', '/home/', { 'content-type': 'application/json' }, '{"commands":[{"command":"delete","target":"a"}]}', 422],
    ['POST', '/home/', { 'content-type': 'multipart/form-data; boundary=x', accept: 'application/json' }, form, 423],
  ];
  for (const user of [testUser, `bob:${testPassword}`]) {
    for (const [method, target, headers, body, status] of attempts) {
      const reply = await both.send(method, target, { user, headers, ...(body === undefined ? {} : { body }) });
      assert.equal(reply.status, status, `${user} ${method} ${target}: ${reply.text}`);
      if (method === 'COPY' && status === 201) await both.send('DELETE', '/home/copy');
    }
  }
  const holding = { if: `(<${token}>)` };
  assert.equal(
    (await both.put('/home/a', 'stolen', { user: `bob:${testPassword}`, headers: holding })).status,
    423,
    'the token of another account does not help',
  );
  const unlock = await both.send('UNLOCK', '/home/a', { user: `bob:${testPassword}`, headers: { ...finder, 'lock-token': `<${token}>` } });
  assert.equal(unlock.status, 403);
  assert.equal((await lock(both, '/home/a', {}, `bob:${testPassword}`)).status, 423);
  assert.equal(readFileSync(join(home, 'a'), 'utf8'), 'a');
  assert.equal((await both.put('/home/a', 'mine', { headers: holding })).status, 201);
  assert.equal((await both.put('/home/d/new', 'x', { headers: { if: `<${both.url}/home/d/> (<${deep}>)` } })).status, 201);
  assert.equal((await both.send('DELETE', '/home/a', { headers: holding })).status, 204);
  assert.equal((await both.put('/home/a', 'new')).status, 201, 'the lock ended when the file was deleted');
});

test('the header If: token and entity tag must both match, Not negates, and a PUT without the token gets 423', async (t) => {
  const server = await startServer(t, on);
  writeFileSync(join(server.home, 'a'), 'A');
  const etag = (await server.get('/home/a')).headers.etag;
  const token = tokenOf(await lock(server, '/home/a'));
  const put = async (condition: string) => (await server.put('/home/a', 'A', { headers: { if: condition } })).status;
  assert.equal(await put(`(<${token}> ["other"])`), 412);
  assert.equal(await put(`(Not <${token}>)`), 412);
  assert.equal(await put('(<DAV:no-lock>)'), 423);
  assert.equal(await put(`(<DAV:no-lock>) (Not <DAV:no-lock> <${token}>)`), 201);
  assert.ok(etag);
});

test('a lock on a folder with Depth 0 protects the names of its members, not their content', async (t) => {
  const server = await startServer(t, on);
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'd/m'), '');
  await lock(server, '/home/d/', { depth: '0' });
  assert.equal((await server.put('/home/d/m', 'new')).status, 201);
  assert.equal((await server.put('/home/d/n', 'new')).status, 423);
  assert.equal((await server.send('DELETE', '/home/d/m')).status, 423);
  assert.equal((await lock(server, '/home/d/m')).status, 200);
});

test('an upload that began before a lock does not overwrite the locked file', async (t) => {
  const server = await startServer(t, on);
  writeFileSync(join(server.home, 'a'), 'old');
  const { request } = await import('node:http');
  const authorization = testBasic;
  const outgoing = request(`${server.url}/home/a`, { method: 'PUT', headers: { authorization, 'transfer-encoding': 'chunked' } });
  const status = new Promise<number | undefined>((resolve) => outgoing.on('response', (reply) => resolve(reply.resume().statusCode)));
  outgoing.write('half');
  while (!(await server.eventIds()).includes(40021)) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal((await lock(server, '/home/a')).status, 200);
  outgoing.end('whole');
  assert.equal(await status, 423);
  assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'old');
  assert.deepEqual(readdirSync(server.home), ['a']);
});
