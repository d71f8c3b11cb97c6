import assert from 'node:assert/strict';
import { chmodSync, existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import { run, start } from '../support/child.ts';
import { Client, within } from '../support/client.ts';
import { control, listed } from '../support/control.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Starts a server with the accounts alice and bob. The results `alice` and `bob` are both sessions of alice, from two addresses. */
async function twoAccounts(t: TestContext): Promise<{ server: TestServer; folder: string; alice: string; bob: string }> {
  const home = { home_folder_path: join(temporaryFolder(t), 'bob'), permissions: [['allow-full-control']] };
  mkdirSync(home.home_folder_path);
  const server = await startServer(t, {
    accounts: { bob: { group: 'BOBS' } },
    groups: { BOBS: home },
    authentications: { local: { type: 'application' } },
    service: { client_forwarded_header: 'X-Forwarded-For', webdav_compatibility: true },
  });
  const alice = await server.login('alice', testPassword, { headers: { 'x-forwarded-for': '192.0.2.1' } });
  const bob = await server.login('alice', testPassword, { headers: { 'x-forwarded-for': '2001:db8::7' } });
  return { server, folder: join(server.folder, 'data'), alice, bob };
}

test('sessions are listed without the IDs that log in; a removed session ends immediately', async (t) => {
  const { server, folder, alice, bob } = await twoAccounts(t);
  const all = await listed(t, folder, 'sessions');
  assert.deepEqual(all.map(({ service, account, address }) => [service, account, address]).sort(), [
    ['web', 'alice', '192.0.2.1'],
    ['web', 'alice', '2001:db8::7'],
  ]);
  const table = await control(t, folder, 'sessions', 'list');
  assert.match(table.stdout, /^ID +SERVICE +ACCOUNT +ADDRESS +CREATED +EXPIRES\n[0-9a-f]{16} {2}web +alice +\S+ +\d{4}-\S+Z +\d{4}-\S+Z\n/);
  assert.equal(table.stdout.trim().split('\n').length, 3);
  for (const secret of [alice, bob]) assert.equal(`${JSON.stringify(all)}${table.stdout}`.includes(secret), false);
  const [here] = await listed(t, folder, 'sessions', '--address', '192.0.2.0/24');
  const url = `${server.service.listening()[0]?.url}/home/`;
  const tried = await fetch(url, { headers: { authorization: `session ${here?.id}` } });
  assert.equal(tried.status, 401, 'the listed ID does not log in');
  const removed = await control(t, folder, 'sessions', 'remove', here?.id ?? '');
  assert.deepEqual([removed.code, removed.stdout, removed.stderr], [0, 'removed 1 session\n', '']);
  assert.equal((await server.get('/home/', within(alice))).status, 401);
  assert.equal((await server.get('/home/', within(bob))).status, 200);
  const again = await control(t, folder, 'sessions', 'remove', here?.id ?? '', '--json');
  assert.deepEqual([again.code, again.stdout, again.stderr], [1, '', `svc: there is no session ${here?.id}\n`]);
  assert.deepEqual(await listed(t, folder, 'sessions', '--account', 'nobody'), []);
  const byAccount = await control(t, folder, 'sessions', 'remove', '--account', 'alice', '--json');
  assert.equal(jsonOutputs.sessions.parse(JSON.parse(byAccount.stdout)).address, '2001:db8::7');
  assert.equal((await server.get('/home/', within(bob))).status, 401);
  const none = await control(t, folder, 'sessions', 'list');
  assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'svc: no sessions\n']);
  assert.deepEqual(
    (await server.eventIds()).filter((id) => id === 40015 || id === 40037),
    [],
    'no event reports a time-out or a logout',
  );
});

test('locks are listed with account, address and owner; a removed lock blocks nobody', async (t) => {
  const { server, folder } = await twoAccounts(t);
  const body =
    '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>Desk &amp; Chair</D:owner></D:lockinfo>';
  const headers = { 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/19.6.0', 'x-forwarded-for': '192.0.2.8' };
  const locked = await server.send('LOCK', '/home/a.txt', { headers: { ...headers, depth: '0' }, body });
  assert.equal(locked.status, 201);
  assert.equal((await server.put('/home/a.txt', 'x')).status, 423);
  const [lock, ...others] = await listed(t, folder, 'locks');
  assert.deepEqual(others, []);
  const { id, expires, ...rest } = lock as NonNullable<typeof lock>;
  const wanted = { path: join(server.home, 'a.txt'), depth: '0', account: 'alice', address: '192.0.2.8', owner: 'Desk & Chair' };
  assert.deepEqual(rest, wanted);
  assert.ok(new Date(expires).getTime() > Date.now());
  assert.equal(String(locked.headers['lock-token']).includes(id), false);
  assert.match((await control(t, folder, 'locks', 'list')).stdout, /^ID +PATH +DEPTH +ACCOUNT +ADDRESS +OWNER +EXPIRES\n.*Desk & Chair/);
  assert.deepEqual(await listed(t, folder, 'locks', '--account', 'bob'), []);
  assert.equal((await control(t, folder, 'locks', 'remove', id)).stdout, 'removed 1 lock\n');
  assert.equal((await server.put('/home/a.txt', 'x')).status, 201);
  assert.equal((await control(t, folder, 'locks', 'remove', '--all')).stdout, 'removed 0 locks\n');
});

test('bans are listed; a removed ban ends immediately', async (t) => {
  const server = await startServer(t, {
    server: { security_policy: { ban_after_failures: 2, ban_seconds: 600 } },
    service: { client_forwarded_header: 'X-Forwarded-For' },
  });
  const folder = join(server.folder, 'data');
  const from = (address: string, user?: string) =>
    server.get('/home/', { headers: { 'x-forwarded-for': address }, ...(user ? { user } : {}) });
  for (const address of ['192.0.2.1', '2001:db8::7']) for (const guess of ['one', 'two']) await from(address, `alice:${guess}`);
  for (const address of ['192.0.2.1', '2001:db8::9']) assert.equal((await from(address)).status, 429);
  const bans = await listed(t, folder, 'bans');
  assert.deepEqual(bans.map(({ id, address }) => [id, address]).sort(), [
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:0:0::/64', '2001:db8:0:0::/64'],
  ]);
  for (const { expires } of bans) assert.ok(Math.abs(new Date(expires).getTime() - Date.now() - 600_000) < 30_000);
  assert.match((await control(t, folder, 'bans', 'list')).stdout, /^ID +FAILURES +SINCE +EXPIRES\n192\.0\.2\.1 +2 +\d{4}-/);
  assert.equal((await control(t, folder, 'bans', 'remove', '192.0.2.1')).stdout, 'removed 1 ban\n');
  assert.equal((await from('192.0.2.1')).status, 200);
  assert.equal((await from('2001:db8::9')).status, 429);
  assert.equal((await control(t, folder, 'bans', 'remove', '--address', '2001:db8::1234')).stdout, 'removed 1 ban\n');
  assert.equal((await from('2001:db8::9')).status, 200);
});

test('names with too many failed logins are listed and removed like bans; the reply and the event say that the name is limited', async (t) => {
  const server = await startServer(t, {
    server: { security_policy: { ban_after_failures: 20 } },
    service: { client_forwarded_header: 'X-Forwarded-For' },
  });
  const folder = join(server.folder, 'data');
  let addresses = 0;
  const get = (user: string) =>
    server.get('/home/', { user, headers: { accept: 'application/json', 'x-forwarded-for': `192.0.2.${++addresses}` } });
  const limit = async (name: string) => {
    for (let index = 0; index < 10; index++) assert.equal((await get(`${name}:guess ${index}`)).status, 401);
  };
  await limit('Alice');
  const refused = await get(`alice:${testPassword}`);
  assert.deepEqual(
    [refused.status, refused.json<{ errors: [{ message: string }] }>().errors[0].message],
    [429, 'Too many failed attempts with this account name, from all addresses together; try again later.'],
  );
  const event = (await server.events()).findLast(({ id }) => id === '20005');
  assert.deepEqual(
    [event?.data.by, event?.data.username, event?.data.details],
    ['name', 'alice', 'Too many failed attempts with this account name, from all addresses together.'],
  );
  const bans = await listed(t, folder, 'bans');
  assert.deepEqual(
    bans.map(({ id, address, account }) => [id, address, account]),
    [['name:alice', '', 'alice']],
  );
  assert.deepEqual(await listed(t, folder, 'bans', '--address', '0.0.0.0/0'), []);
  assert.match((await control(t, folder, 'bans', 'list')).stdout, /^ID +FAILURES +SINCE +EXPIRES\nname:alice +10 +\d{4}-/);
  for (const how of [['--all'], ['name:alice'], ['--account', 'alice']]) {
    assert.equal((await get(`alice:${testPassword}`)).status, 429, how.join(' '));
    assert.equal((await control(t, folder, 'bans', 'remove', ...how)).stdout, 'removed 1 ban\n');
    assert.equal((await control(t, folder, 'bans', 'list')).stderr, 'svc: no bans\n');
    assert.equal((await get(`alice:${testPassword}`)).status, 200);
    await limit('alice');
  }
});

test('commands find the service by its configuration, its data folder or the current folder; without a reply the exit code is 3', async (t) => {
  const cwd = temporaryFolder(t);
  for (const args of [
    ['sessions', 'list'],
    ['locks', 'remove', '--all'],
    ['sessions', 'list', '--data-folder', 'elsewhere'],
  ]) {
    const away = await run(t, args, { cwd });
    assert.deepEqual([away.code, away.stdout], [3, '']);
    assert.match(away.stderr, /^svc: No service is running with the data folder \/.*\.\n$/);
  }
  const server = start(t, ['serve', '--port', '0', '--user', `admin:${testPassword}`], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  await client.login('admin');
  assert.match((await run(t, ['sessions', 'list'], { cwd })).stdout, /admin/, 'the command works without a configuration');
  const socket = join(cwd, 'svc-data/control.sock');
  assert.equal(lstatSync(socket).mode & 0o777, 0o600);
  const config = join(cwd, 'other.yaml');
  writeFileSync(config, 'server: {data_folder_path: svc-data}\nservices: {web: {type: http, prot: 1}}\n');
  assert.match(
    (await run(t, ['sessions', 'list', '--config', config], { cwd: '/' })).stdout,
    /admin/,
    'the data folder of a configuration is used despite its errors',
  );
  assert.match((await run(t, ['sessions', 'list'], { cwd: '/', env: { SVC_CONFIG: config } })).stdout, /admin/);
  server.child.kill('SIGKILL');
  await server.ended;
  assert.ok(existsSync(socket), 'the killed process left its socket');
  assert.equal((await run(t, ['sessions', 'list'], { cwd })).code, 3);
  const next = start(t, ['serve', '--port', '0', '--user', `admin:${testPassword}`], { cwd });
  await next.line(/listening/);
  assert.deepEqual((await run(t, ['sessions', 'list'], { cwd })).code, 0, 'the next process has replaced the socket');
  next.child.kill('SIGTERM');
  await next.ended;
  assert.equal(existsSync(socket), false);
});

test('a usage error gives one line and exit code 2', async (t) => {
  const { folder } = await twoAccounts(t);
  const cases: [string[], RegExp][] = [
    [['sessions', 'remove'], /^svc: Name the sessions to remove: by ID, with --account or --address, or with --all\.\n$/],
    [['sessions', 'remove', '--all', '--account', 'alice'], /^svc: Name the sessions/],
    [['locks', 'remove', 'abc', '--all'], /^svc: Name the locks/],
    [['sessions', 'list', '--address', 'nonsense'], /^svc: "nonsense" is neither an IP address nor a CIDR range\.\n$/],
    [['sessions', 'list', '--all'], /^svc: unknown option "--all"\. Run/],
    [['sessions', 'list', 'abc'], /^svc: too many arguments for 'list'\. Expected .*\n$/],
  ];
  for (const [args, message] of cases) {
    const end = await control(t, folder, ...args);
    assert.deepEqual([end.code, end.stdout], [2, ''], args.join(' '));
    assert.match(end.stderr, message);
  }
  assert.equal((await listed(t, folder, 'sessions')).length, 2, 'nothing was removed');
});

test('a folder where no socket can be created does not prevent the service from serving', async (t) => {
  const cwd = temporaryFolder(t);
  mkdirSync(join(cwd, 'svc-data/control.sock'), { recursive: true, mode: 0o700 });
  chmodSync(join(cwd, 'svc-data'), 0o700);
  const server = start(t, ['serve', '--port', '0', '--user', `admin:${testPassword}`], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  assert.equal((await client.get('/home/', { user: `admin:${testPassword}` })).status, 200);
  assert.match(server.stderr(), /cannot reach this server/);
  const end = await run(t, ['sessions', 'list'], { cwd });
  assert.equal(end.code, 3);
  assert.match(end.stderr, /No service answers in/);
});
