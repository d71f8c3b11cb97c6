import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type AccountPage, type AccountView, accountPage, accountView } from '../../src/console/api/schemas/accounts.ts';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import { asOperator, asReviewer, asViewer, type ConsoleClient, startConsole } from '../support/console.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { temporaryFolder } from '../support/temp.ts';
import { trashOf } from '../support/trash.ts';

async function lister(console: ConsoleClient) {
  const contract = await console.contract();
  return {
    async page(query = ''): Promise<AccountPage> {
      const reply = await console.get(`/api/accounts${query}`, asViewer);
      contract.check('GET', '/api/accounts', reply);
      assert.equal(reply.status, 200, reply.text);
      return accountPage.strict().parse(reply.json());
    },
    async one(name: string): Promise<AccountView> {
      const reply = await console.get(`/api/accounts/${encodeURIComponent(name)}`, asViewer);
      contract.check('GET', '/api/accounts/{name}', reply);
      return accountView.strict().parse(reply.json());
    },
    async refusal(path: string): Promise<number> {
      const reply = await console.get(path, asViewer);
      contract.check('GET', path.startsWith('/api/accounts/') ? '/api/accounts/{name}' : '/api/accounts', reply);
      return reply.status;
    },
  };
}

const names = ({ items }: AccountPage) => items.map(({ name }) => name);

test('accounts of all sources are listed with group, home, quota, last login and sessions', async (t) => {
  const endpoint = await calloutEndpoint(t, (response, { credentials }) => {
    if (credentials.username !== 'remote') return response.writeHead(401).end();
    response.writeHead(200).end(JSON.stringify({ account: { group: 'partners' } }));
  });
  const folder = temporaryFolder(t);
  const accountsFile = join(folder, 'accounts.json');
  const password = await cheapHash(testPassword);
  const filed = { 'bob b': { password, group: 'partners' }, carl: { password, enabled: false }, dora: { password, group: 'nowhere' } };
  writeFileSync(accountsFile, JSON.stringify({ accounts: filed }));
  mkdirSync(join(folder, 'partners/bob b'), { recursive: true });
  writeFileSync(join(folder, 'partners/bob b/x'), Buffer.alloc(1500));
  const { server, console } = await startConsole(t, {
    groups: { partners: { name: 'Our partners', home_folder_path: join(folder, 'partners/${USER}'), quota_size: 10_000 } },
    authentications: {
      local: { type: 'application', accounts_file_path: accountsFile },
      remote: { type: 'http', url: endpoint.url, test_at_start: false },
    },
  });
  const list = await lister(console);
  const first = await list.page();
  assert.deepEqual(names(first), ['alice', 'bob b', 'carl', 'dora'], 'nobody has logged in through the endpoint yet');
  assert.deepEqual([first.total, first.next, first.logins_since, first.logins_complete], [4, null, null, true]);

  const remote = `remote:${testPassword}`;
  assert.equal((await server.get('/home/', { user: remote })).status, 200);
  const login = { username: 'bob b', password: testPassword };
  for (const agent of ['curl/8.5.0', 'Cyberduck/9'])
    await server.send('POST', '/__svc__/login', {
      user: null,
      headers: { 'content-type': 'application/json', accept: 'application/json', 'user-agent': agent },
      body: JSON.stringify(login),
    });
  await until('the logins are known', async () => (await list.page()).total === 5);
  const page = await list.page();
  const shown = page.items.map(({ name, source, method, enabled, group, home, quota_bytes, used_bytes }) => [
    name,
    source,
    method,
    enabled,
    group,
    home,
    quota_bytes,
    used_bytes,
  ]);
  assert.deepEqual(shown, [
    ['alice', 'configuration', 'local', true, 'DEFAULT_GROUP', server.home, null, null],
    ['bob b', 'accounts_file', 'local', true, 'partners', join(folder, 'partners/bob b'), 10_000, 1500],
    ['carl', 'accounts_file', 'local', false, 'DEFAULT_GROUP', server.home, null, null],
    ['dora', 'accounts_file', 'local', true, 'nowhere', '', null, null],
    // The home folder of this account is known only while the account has a session.
    ['remote', 'login', 'remote', true, 'partners', '', 10_000, null],
  ]);
  assert.match(page.items[3]?.problem ?? '', /The group "nowhere" does not exist/);
  const bob = page.items[1] as AccountView;
  assert.deepEqual([page.items[0]?.group_name, bob.group_name, page.items[3]?.group_name], ['', 'Our partners', '']);
  assert.deepEqual(
    bob.sessions.map(({ service, count }) => [service, count]),
    [['web', 2]],
  );
  assert.deepEqual([bob.last_login?.address, bob.last_login?.service, bob.last_login?.method], ['127.0.0.1', 'web', 'local']);
  assert.ok(Math.abs(Date.parse(bob.last_login?.time ?? '') - Date.now()) < 60_000);
  const { items } = (await console.get('/api/sessions?account=bob%20b', asViewer)).json<{ items: Record<string, string>[] }>();
  assert.deepEqual(items.map(({ client, service }) => [client, service]).sort(), [
    ['Cyberduck/9', 'web'],
    ['curl/8.5.0', 'web'],
  ]);
  assert.ok(items.every(({ created = '', last_used = '' }) => last_used >= created));

  assert.deepEqual(names(await list.page('?search=AL')), ['alice']);
  assert.deepEqual(names(await list.page('?group=partners')), ['bob b', 'remote']);
  const second = await list.page('?limit=2');
  assert.deepEqual([names(second), second.next, second.total], [['alice', 'bob b'], 'bob b', 5]);
  assert.deepEqual(names(await list.page('?limit=2&cursor=bob%20b')), ['carl', 'dora']);
  assert.deepEqual(names(await list.page('?cursor=zz')), []);
  assert.equal((await list.one('bob b')).used_bytes, 1500);
  assert.equal((await server.login('remote')).length > 0, true);
  assert.equal((await list.one('remote')).home, join(folder, 'partners/remote'), 'the home folder is known from the session');
  assert.deepEqual(
    await Promise.all(['/api/accounts/nobody', '/api/accounts?limit=0', '/api/accounts?limit=501', '/api/accounts?x=1'].map(list.refusal)),
    [404, 400, 400, 400],
  );
  assert.equal((await console.get('/api/accounts')).status, 401);
  const whole = JSON.stringify(await list.page());
  assert.equal(whole.includes(password) || whole.includes('$scrypt'), false, 'the list contains no password and no hash');
});

test('a changed accounts file is read again; the list shows last logins, and since when they are recorded', async (t) => {
  const folder = temporaryFolder(t);
  const accountsFile = join(folder, 'accounts.yaml');
  writeFileSync(accountsFile, 'bob: {}\n');
  const { server, console } = await startConsole(t, {
    authentications: { local: { type: 'application', accounts_file_path: accountsFile } },
  });
  const list = await lister(console);
  await server.get('/home/');
  await until('the login is known', async () => (await list.one('alice')).last_login !== null);
  assert.deepEqual(names(await list.page()), ['alice', 'bob']);
  writeFileSync(accountsFile, 'bob: {}\ncarl: {enabled: false}\n');
  await until('the new account is listed', async () => names(await list.page()).includes('carl'));
  const before = (await list.page()).logins_since;
  assert.ok(before !== null);
});

test('50,000 accounts of an accounts file are listed page by page, and searched', async (t) => {
  const accountsFile = join(temporaryFolder(t), 'accounts.json');
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`user-${String(index).padStart(6, '0')}`, {}]));
  writeFileSync(accountsFile, JSON.stringify(many));
  const { console } = await startConsole(t, { authentications: { local: { type: 'application', accounts_file_path: accountsFile } } });
  const list = await lister(console);
  const first = await list.page();
  assert.deepEqual([first.total, first.items.length, first.next], [50_001, 50, 'user-000048']);
  const found = await list.page('?search=4999&limit=500');
  assert.deepEqual([found.total, found.items.length, found.next], [15, 15, null]);
  assert.equal((await list.page('?cursor=user-049990')).items.length, 9);
});

test('operators restore and remove items in the trash of accounts, with events that name the operator; others cannot', async (t) => {
  const { server, console } = await startConsole(t, { group: { trash: { days: 30 } } });
  const contract = await console.contract();
  for (const name of ['a', 'b', 'c', 'd']) {
    await server.put(`/home/${name}`, name);
    assert.equal((await server.send('DELETE', `/home/${name}`)).status, 204);
  }
  const list = async (query = '') => {
    const reply = await console.get(`/api/trash${query}`, asViewer);
    contract.check('GET', '/api/trash', reply);
    return reply.json<{ items: { id: string; path: string; account: string; by: string; size: number }[]; total: number }>();
  };
  const { items, total } = await list();
  assert.deepEqual([total, items.map(({ path }) => path)], [4, ['/d', '/c', '/b', '/a']]);
  assert.deepEqual(items.map(({ account, by, size }) => [account, by, size])[0], ['alice', 'alice', 1]);
  assert.deepEqual([(await list('?account=bob')).total, (await list('?account=alice&limit=2')).items.length], [0, 2]);
  const [d, c, b, a] = items.map(({ id }) => id) as [string, string, string, string];
  for (const who of [asViewer, asReviewer]) {
    assert.equal((await console.post('/api/trash/restore', { ids: [a] }, who)).status, 403);
    assert.equal((await console.send('DELETE', '/api/trash?all=1', who)).status, 403);
  }
  assert.equal((await console.send('DELETE', '/api/trash', asOperator)).status, 400);

  const restore = async (...ids: string[]) => {
    const reply = await console.post('/api/trash/restore', { ids }, asOperator);
    contract.check('POST', '/api/trash/restore', reply);
    return reply.json<{ results: { id: string; path?: string; error?: string }[] }>().results;
  };
  await server.put('/home/b', 'taken');
  const gone = '0'.repeat(32);
  assert.deepEqual(await restore(a, b, gone), [
    { id: a, path: '/a' },
    { id: b, error: 'The name is taken; restore the item under another name.', code: 'exists' },
    { id: gone, error: 'The item is not in the trash.', code: 'not-found' },
  ]);
  const restoreAs = async (ids: string[], path: string) => {
    const reply = await console.post('/api/trash/restore', { ids, path }, asOperator);
    contract.check('POST', '/api/trash/restore', reply);
    return reply;
  };
  assert.equal((await restoreAs([c, d], '/x')).status, 400, 'one path is not for several items');
  assert.deepEqual((await restoreAs([d], 'b')).json(), {
    results: [{ id: d, error: 'The name is taken; restore the item under another name.', code: 'exists' }],
  });
  assert.deepEqual((await restoreAs([d], 'd (2)')).json(), { results: [{ id: d, path: '/d (2)' }] });
  assert.equal((await server.get('/home/d%20(2)')).text, 'd');
  assert.equal((await server.get('/home/a')).text, 'a');
  const ended = await console.send('DELETE', `/api/trash?id=${c}`, asOperator);
  contract.check('DELETE', '/api/trash', ended);
  assert.deepEqual(ended.json(), { removed: 1 });
  assert.deepEqual(
    (await trashOf(server)).map(({ id }) => id),
    [b],
  );
  assert.deepEqual((await console.send('DELETE', '/api/trash?account=alice', asOperator)).json(), { removed: 1 });
  assert.deepEqual(await trashOf(server), []);

  const events = await server.events();
  const told = events.filter(({ id }) => id === '40101' || id === '40102').map(({ id, data }) => [id, data.path, data.administrator]);
  assert.deepEqual(told, [
    ['40101', '/a', 'olga'],
    ['40101', '/d (2)', 'olga'],
    ['40102', '/c', 'olga'],
    ['40102', '/b', 'olga'],
  ]);
  const actions = events.filter(({ id }) => id === '20191').map(({ data }) => [data.action, data.administrator]);
  assert.deepEqual(actions, [
    ['trash-restore', 'olga'],
    ['trash-restore', 'olga'],
    ['trash-end', 'olga'],
    ['trash-end', 'olga'],
  ]);
});
