import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { test } from 'node:test';
import { hashPassword } from '../../src/accounts/passwords.ts';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import { selfSigned } from '../support/certificates.ts';
import { append, hidden, newest, part } from '../support/draft-uploads.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { basicOf, learnSecret, testBasic, testPassword, testUser } from '../support/secrets.ts';
import { startServer, type TestConfig, type TestServer, testConfig } from '../support/server.ts';
import { stallDownload, stallUpload } from '../support/stalled-transfers.ts';

/** More than the buffers of sockets hold. */
const largeBytes = 64 * 1024 * 1024;
const nothing = { sessions: 0, connections: 0, transfers: 0 };

function makeLarge(server: TestServer): void {
  writeFileSync(join(server.home, 'large'), '');
  truncateSync(join(server.home, 'large'), largeBytes);
}

/** Logs in twice. Returns headers with each session: one as authorization, one as a cookie. */
async function sessionHeaders(server: TestServer, username = 'alice', password = testPassword) {
  const bySession = { authorization: `session ${await server.login(username, password)}` };
  const byCookie = { cookie: `SVC_HTTP_SESSION=${await server.login(username, password)}` };
  return [bySession, byCookie] as const;
}

const statusOf = async (server: TestServer, headers: Record<string, string>, target = '/home/') =>
  (await server.get(target, { user: null, headers })).status;

async function reload(server: TestServer, config: TestConfig, isGone = false) {
  const loaded = await testConfig(server.folder, config);
  if (isGone) delete loaded.config.accounts.alice;
  return (await server.service.reload(loaded)).ended;
}

const hiddenBytes = (server: TestServer) => hidden(server).map((name) => statSync(join(server.home, name)).size);

test('after a reload, the next request of a session has the new permissions, limits and home folder', async (t) => {
  const server = await startServer(t);
  const sessions = await sessionHeaders(server);
  const put = async (headers: Record<string, string>) => (await server.put('/home/f', 'content', { user: null, headers })).status;
  for (const headers of sessions) assert.ok([201, 204].includes(await put(headers)));
  assert.deepEqual(await reload(server, { group: { permissions: [['allow-read', 'allow-list']] } }), nothing);
  for (const headers of sessions) assert.deepEqual([await put(headers), await statusOf(server, headers, '/home/f')], [403, 200]);
  await reload(server, { group: { file_write_size: 3 } });
  for (const headers of sessions) assert.equal(await put(headers), 413);
  const moved = join(server.folder, 'moved');
  await reload(server, { account: { home_folder_path: moved } });
  for (const headers of sessions)
    assert.deepEqual([await statusOf(server, headers, '/home/f'), await statusOf(server, headers)], [404, 200]);
  assert.ok(existsSync(moved), 'the home folder is created as at a login');
  await reload(server, { service: { session_maximum_age: 1 } });
  await until('the session is too old', async () => (await statusOf(server, sessions[0])) === 401);
});

const hash = cheapHash('another that is long enough');
const outs: [why: string, config: () => Promise<TestConfig>][] = [
  ['the account is disabled', async () => ({ account: { enabled: false } })],
  ['the account is gone', async () => ({})],
  ['the group is disabled', async () => ({ group: { enabled: false }, groups: { others: { home_folder_path: '/tmp' } } })],
  ['the password is changed', async () => ({ account: { password: await hash } })],
  ['the account of the name has another UUID', async () => ({ account: { uuid: 'another' } })],
  ['no method knows the account', async () => ({ authentications: { local: { type: 'application', enabled: false }, o: anonymous } })],
];
const anonymous = { type: 'anonymous', group: 'DEFAULT_GROUP', enabled: false };

for (const [why, config] of outs) {
  test(`a reload logs an account out when ${why}: its sessions, downloads, uploads and archives end`, async (t) => {
    const others = { bob: { password: await cheapHash(testPassword), group: 'others' } };
    const home = { home_folder_path: '/tmp' };
    const policy = { server: { security_policy: { ban_after_failures: 1 } } };
    const authentications = { local: { type: 'application' } };
    const server = await startServer(t, { ...policy, authentications, accounts: others, groups: { others: home } });
    makeLarge(server);
    const [session, cookie] = await sessionHeaders(server);
    const [bob] = await sessionHeaders(server, 'bob');
    const zip = { accept: 'application/zip' };
    const downloads = await Promise.all([
      stallDownload(server.port, '/home/large', session),
      stallDownload(server.port, '/home/large', cookie),
      stallDownload(server.port, '/home/large', { authorization: testBasic }),
      stallDownload(server.port, '/home/', { ...session, ...zip }),
    ]);
    const { headers } = await server.put('/home/resumable', 'begun', { user: null, headers: { ...session, ...part } });
    const unfinished = String(headers.location);
    const uploads = [
      await stallUpload(server.port, 'PUT', '/home/up', session),
      await stallUpload(server.port, 'PATCH', unfinished, { ...session, ...newest, ...append(5, true) }),
    ];
    const begun = 'the beginning'.length;
    await until(
      'the uploads are under way',
      () =>
        hiddenBytes(server)
          .toSorted((a, b) => a - b)
          .join() === `${begun},${begun + 5}`,
    );
    const next = await config();
    const accounts = { ...others, ...next.accounts };
    const ended = await reload(
      server,
      { ...policy, authentications, groups: { others: home }, ...next, accounts },
      why === 'the account is gone',
    );
    const isAll = why === 'no method knows the account';
    assert.deepEqual(ended, { sessions: isAll ? 4 : 2, connections: 0, transfers: 6 });
    for (const download of downloads) assert.ok((await download.finish()) < largeBytes, 'the download is cut');
    assert.deepEqual(await Promise.all(uploads.map(({ ended: closed }) => closed)), ['', '']);
    for (const headers of [session, cookie]) assert.equal(await statusOf(server, headers), 401);
    assert.equal(await statusOf(server, bob), isAll ? 401 : 200, 'no guess was counted: the address is not banned');
    assert.equal((await server.get('/home/', { user: testUser })).status, why.includes('UUID') ? 200 : 401);
    assert.equal(existsSync(join(server.home, 'up')), false);
    const told = (await server.events()).find(({ id }) => id === '20012');
    assert.deepEqual(told?.data.ended, ended);
    const ids = await server.eventIds();
    assert.deepEqual([ids.includes(40015), ids.includes(20005)], [false, false], 'the session did not time out, and no address was banned');
    assert.equal(existsSync(join(server.home, 'resumable')), false);
  });
}

test('an account that is restored after its removal does not get its old sessions back', async (t) => {
  const server = await startServer(t);
  const [session] = await sessionHeaders(server);
  assert.deepEqual(await reload(server, {}, true), { ...nothing, sessions: 2 });
  await reload(server, {});
  assert.equal(await statusOf(server, session), 401);
  assert.equal((await server.get('/home/')).status, 200);
});

test('a reload that disables an account cuts its HTTP/2 download; another stream of the connection continues', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { certPath, keyPath, cert } = selfSigned(t);
  const web = { type: 'https', port: 0, tls_certificate_path: certPath, tls_key_path: keyPath };
  const accounts = { bob: { password: await cheapHash(testPassword) } };
  const server = await startServer(t, { services: { web }, accounts });
  makeLarge(server);
  const connection = connectHttp2(server.url, { ca: cert });
  t.after(() => connection.destroy());
  const open = async (user: string) => {
    const stream = connection.request({ ':path': '/home/large', authorization: basicOf(user) });
    await new Promise((resolve) => stream.once('response', resolve));
    return stream;
  };
  const [cut, stays] = [await open(testUser), await open(`bob:${testPassword}`)];
  const closed = new Promise((resolve) => cut.once('close', resolve));
  cut.on('error', () => {});
  assert.deepEqual(await reload(server, { services: { web }, accounts, account: { enabled: false } }), { ...nothing, transfers: 1 });
  let cutBytes = 0;
  cut.on('data', (chunk: Buffer) => {
    cutBytes += chunk.length;
  });
  await closed;
  assert.ok(cutBytes < largeBytes);
  let bytes = 0;
  for await (const chunk of stays) bytes += (chunk as Buffer).length;
  assert.equal(bytes, largeBytes);
});

test('callout accounts keep values of the reply, and get all others from a reloaded group; a disabled group logs them out', async (t) => {
  const account = { group: 'partners', permissions: [['allow-read', 'allow-list']] };
  const replies: Record<string, unknown> = { carla: { account }, dora: { account: { group: 'partners' } } };
  const endpoint = await calloutEndpoint(t, (response, { credentials }) =>
    response.end(JSON.stringify(replies[String(credentials.username)])),
  );
  learnSecret('any password of a partner', 'the callout');
  const authentications = { remote: { type: 'http', url: endpoint.url, cache_seconds: 3600 } };
  const partners = (more: Record<string, unknown> = {}) => ({ groups: { partners: { home_folder_path: '/tmp', ...more } } });
  const server = await startServer(t, { authentications, ...partners() });
  const home = join(server.folder, 'partners');
  mkdirSync(home);
  writeFileSync(join(home, 'large'), '');
  truncateSync(join(home, 'large'), largeBytes);
  const users = { carla: 'carla:any password of a partner', dora: 'dora:any password of a partner' };
  const [carla] = await sessionHeaders(server, 'carla', 'any password of a partner');
  const [dora] = await sessionHeaders(server, 'dora', 'any password of a partner');
  const asked = endpoint.asked.length;
  assert.deepEqual(
    await reload(server, { authentications, ...partners({ home_folder_path: home, permissions: [['allow-full-control']] }) }),
    nothing,
  );
  const put = async (name: string, options: Record<string, unknown>) => (await server.put(`/home/${name}`, 'x', options)).status;
  assert.equal(await put('c1', { user: null, headers: carla }), 403, 'the reply of the callout set her permissions');
  assert.equal(await put('d1', { user: null, headers: dora }), 201);
  assert.equal(endpoint.asked.length, asked, 'sessions do not call out again');
  assert.equal(await put('d2', { user: users.dora }), 201);
  assert.deepEqual(
    await reload(server, { authentications, ...partners({ home_folder_path: home, permissions: [['allow-read']] }) }),
    nothing,
  );
  assert.equal(await put('d3', { user: null, headers: dora }), 403, 'her permissions come from the reloaded group');
  assert.equal(await put('d4', { user: users.dora }), 403);
  const download = await stallDownload(server.port, '/home/large', { authorization: basicOf(users.carla) });
  const ended = await reload(server, { authentications, ...partners({ home_folder_path: home, enabled: false }) });
  assert.deepEqual(ended, { sessions: 4, connections: 0, transfers: 1 });
  assert.ok((await download.finish()) < largeBytes);
  for (const headers of [carla, dora]) assert.equal(await statusOf(server, headers), 401);
  for (const user of Object.values(users)) assert.equal((await server.get('/home/', { user })).status, 401);
});

test('the session that changes the password of its account continues, also after reloads; all other sessions end', async (t) => {
  const config = { group: { allow_own_password_change: true } };
  const server = await startServer(t, config);
  makeLarge(server);
  const [own, other] = await sessionHeaders(server);
  const download = await stallDownload(server.port, '/home/large', own);
  const foreign = await stallDownload(server.port, '/home/large', { authorization: testBasic });
  const next = 'changed by herself, long enough';
  const change = async (current: string, wanted: string) => {
    learnSecret(wanted, 'a changed password');
    const { status } = await server.send('POST', '/home/__svc__/password-update', {
      user: null,
      headers: { ...own, 'content-type': 'application/json' },
      body: JSON.stringify({ current_password: current, new_password: wanted }),
    });
    assert.equal(status, 204);
  };
  await change(testPassword, next);
  assert.deepEqual([await statusOf(server, own), await statusOf(server, other)], [200, 401]);
  assert.ok((await foreign.finish()) < largeBytes, 'the download with the old password is cut');
  assert.deepEqual(await reload(server, config), nothing);
  assert.equal(await statusOf(server, own), 200);
  await change(next, testPassword);
  assert.equal(await statusOf(server, own), 200);
  assert.ok((await download.finish()) > largeBytes, 'the whole download arrived, with its header section');
  assert.deepEqual(await reload(server, { ...config, account: { password: await hash } }), { ...nothing, sessions: 1 });
  assert.equal(await statusOf(server, own), 401);
});

test('a change of the accounts file takes effect without a reload, and without a request', async (t) => {
  const server = await startServer(t);
  await reload(server, {}, true);
  const path = join(server.folder, 'data', 'accounts.yaml');
  const write = (text: string) => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  const password = await cheapHash(testPassword);
  const [alice, other] = ['alice', 'bob'].map((name) => `${name}: {password: "${password}"}\n`) as [string, string];
  write(`${alice}${other}`);
  makeLarge(server);
  await until('the accounts are read', async () => (await server.get('/home/')).status === 200);
  const [session] = await sessionHeaders(server);
  const [bob] = await sessionHeaders(server, 'bob');
  const download = await stallDownload(server.port, '/home/large', session);
  write(`${alice.replace('{', '{permissions: [[allow-list]], ')}${other}`);
  await until('the right was removed', async () => (await statusOf(server, session, '/home/large')) === 403);
  assert.equal(await statusOf(server, session), 200);
  write(other);
  await until('the end of the transfer is logged', () => server.log.some((line) => line.includes('"transfers":1')));
  assert.ok((await download.finish()) < largeBytes);
  assert.deepEqual([await statusOf(server, session), await statusOf(server, bob)], [401, 200]);
  assert.match(readFileSync(path, 'utf8'), /^bob/);
});

test('a login that is being checked while a reload disables the account is refused', async (t) => {
  // Verifying this hash takes about a second.
  const slow = await hashPassword(testPassword, { ln: 18, r: 8, p: 1 });
  const server = await startServer(t, { account: { password: slow } });
  const waiting = server.get('/home/');
  // Client and server share one event loop: after some turns the request has arrived.
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  await reload(server, { account: { password: slow, enabled: false } });
  assert.equal((await waiting).status, 401);
  assert.ok(!(await server.eventIds()).includes(40007), 'the folder was not listed');
});
