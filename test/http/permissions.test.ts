import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keptName } from '../../src/files/disk/temporaries.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const json = { accept: 'application/json' };

/** Returns the status of each operation on `/d/f` and `/d/` with one set of permissions. */
async function outcomes(server: TestServer): Promise<Record<string, number>> {
  mkdirSync(join(server.home, 'd/sub'), { recursive: true });
  writeFileSync(join(server.home, 'd/f'), 'x');
  const status = async (method: string, target: string, body?: string) =>
    (await server.send(method, target, { headers: json, ...(body === undefined ? {} : { body }) })).status;
  return {
    read: await status('GET', '/home/d/f'),
    list: await status('GET', '/home/d/'),
    write: await status('PUT', '/home/d/f', 'y'),
    mkdir: await status('PUT', '/home/d/new/'),
    deleteFile: await status('DELETE', '/home/d/f'),
    deleteFolder: await status('DELETE', '/home/d/sub/'),
  };
}

const denied = { read: 403, list: 403, write: 403, mkdir: 403, deleteFile: 403, deleteFolder: 403 };
const table: [string[], Record<string, number>][] = [
  [['allow-full-control'], { read: 200, list: 200, write: 201, mkdir: 201, deleteFile: 204, deleteFolder: 204 }],
  [[], denied],
  [['allow-full-control', 'deny-full-control'], denied],
  [['allow-read'], { ...denied, read: 200 }],
  [['allow-list'], { ...denied, list: 200 }],
  [['allow-traverse'], { ...denied, list: 200 }],
  [['allow-write'], { ...denied, write: 201 }],
  [['allow-create-folder'], { ...denied, mkdir: 201 }],
  [['allow-delete-file'], { ...denied, deleteFile: 204 }],
  [['allow-delete-folder'], { ...denied, deleteFolder: 204 }],
  [['allow-delete-file', 'allow-delete-folder'], { ...denied, deleteFile: 204, deleteFolder: 204 }],
  [['allow-rename', 'allow-set-attributes'], denied],
];

test('each permission keyword grants exactly its operations', async (t) => {
  for (const [keywords, expected] of table) {
    const server = await startServer(t, { group: { permissions: [keywords] } });
    assert.deepEqual(await outcomes(server), expected, keywords.join(', '));
    await server.stop();
  }
});

test('a refusal reveals nothing about existing items', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-list']] } });
  writeFileSync(join(server.home, 'there'), 'x');
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
    const [there, missing] = [await server.send(method, '/home/there'), await server.send(method, '/home/missing')];
    assert.deepEqual([there.status, there.text], [403, missing.text], method);
    assert.equal(missing.status, 403, method);
  }
});

test('allow-traverse alone shows folders: a file and a missing item are refused alike, by every method', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-traverse']] }, service: { webdav_compatibility: true } });
  mkdirSync(join(server.home, 'd/sub'), { recursive: true });
  for (const name of ['there', 'd/there']) writeFileSync(join(server.home, name), 'x');
  const body = '<propertyupdate xmlns="DAV:"><set><prop><a xmlns="u:"/></prop></set></propertyupdate>';
  const requests: [string, { headers?: Record<string, string>; body?: string }][] = [
    ['GET', {}],
    ['HEAD', {}],
    ['PUT', { body: 'y' }],
    ['POST', { body: '{}', headers: { 'content-type': 'application/json' } }],
    ['DELETE', {}],
    ['MKCOL', {}],
    ['COPY', { headers: { destination: '/home/n' } }],
    ['MOVE', { headers: { destination: '/home/n' } }],
    ['PROPPATCH', { body }],
    ...['0', '1', '1,noroot', 'infinity'].map((depth): [string, object] => ['PROPFIND', { headers: { depth } }]),
  ];
  for (const [method, options] of requests) {
    for (const below of ['', 'd/']) {
      const there = await server.send(method, `/home/${below}there`, options);
      const missing = await server.send(method, `/home/${below}missing`, options);
      assert.deepEqual([there.status, there.text], [403, missing.text], `${method} ${below}`);
      assert.equal(missing.status, 403, `${method} ${below}`);
    }
    const named = [await server.send(method, '/home/there/', options), await server.send(method, '/home/missing/', options)];
    assert.deepEqual([named[0]?.status, named[0]?.text], [named[1]?.status, named[1]?.text], `${method} with a slash`);
  }
  for (const target of ['/home/d/', '/home/d']) assert.equal((await server.send('PROPFIND', target)).status, 207, target);
  assert.doesNotMatch((await server.send('PROPFIND', '/home/d/')).text, /there/);
});

test('allow-delete-folder suffices to delete an empty folder over every interface, but not a folder that contains files', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-list', 'allow-delete-folder']] } });
  for (const name of ['a', 'b', 'c', 'nested/sub', 'full', 'unfinished']) mkdirSync(join(server.home, name), { recursive: true });
  writeFileSync(join(server.home, 'unfinished', keptName()), 'of an upload');
  writeFileSync(join(server.home, 'full/f'), 'x');
  assert.equal((await server.send('DELETE', '/home/a/')).status, 204);
  const commands = { commands: [{ command: 'delete', target: 'b' }] };
  const command = { body: JSON.stringify(commands), headers: { 'content-type': 'application/json' } };
  assert.equal((await server.send('POST', '/home/', command)).status, 200);
  const form = { body: 'action=delete-members&selected-members=c', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  assert.equal((await server.send('POST', '/home/', form)).status, 303);
  for (const name of ['nested', 'unfinished']) assert.equal((await server.send('DELETE', `/home/${name}/`)).status, 204, name);
  assert.equal((await server.send('DELETE', '/home/full/')).status, 403);
  assert.equal((await server.send('DELETE', '/home/missing/')).status, 404);
  assert.deepEqual(await server.names('/home/'), ['full']);
  assert.equal((await server.eventIds()).filter((id) => id === 40026).length, 5);
});

test('a virtual folder without its real folder is listed without a time, and the log reports each loss once', async (t) => {
  const first = await startServer(t);
  await first.stop();
  mkdirSync(join(first.home, 'real'));
  utimesSync(join(first.home, 'real'), 1_600_000_000, 1_600_000_000);
  const group = {
    home_folder_path: first.home,
    virtual_folders: [
      ['/v', join(first.home, 'gone')],
      ['/p/q', join(first.home, 'real')],
      ['/p/r', join(first.home, 'gone-too')],
    ],
  };
  const server = await startServer(t, { group });
  type Listing = { content: { name: string; is_directory: boolean; modified: number }[] };
  const times = async () => {
    const { content } = (await server.get('/home/', { headers: json })).json<Listing>();
    return Object.fromEntries(content.map(({ name, modified }) => [name, modified]));
  };
  const { v, p } = await times();
  assert.deepEqual([v, p], [0, 1_600_000_000], 'a parent has the time of the latest folder below it');
  await server.get('/home/p/', { headers: json });
  await times();
  const told = () => server.log.filter((line) => line.includes('real folder of a virtual folder is missing'));
  assert.deepEqual(
    told().map((line) => [JSON.parse(line).path, JSON.parse(line).real_path]),
    [
      ['/v', join(first.home, 'gone')],
      ['/p/r', join(first.home, 'gone-too')],
    ],
  );
  mkdirSync(join(first.home, 'gone'));
  utimesSync(join(first.home, 'gone'), 1_500_000_000, 1_500_000_000);
  assert.equal((await times()).v, 1_500_000_000);
  rmdirSync(join(first.home, 'gone'));
  assert.equal((await times()).v, 0);
  assert.equal(told().length, 3, 'a second loss is reported, too');
});

test('rules: the first match replaces the general set; globs ignore case and match across folders', async (t) => {
  const server = await startServer(t, {
    group: {
      permissions: [
        ['allow-read', 'allow-list'],
        ['/in/*', 'allow-full-control'],
        ['*.csv', 'deny-full-control'],
        ['e/^\\/logs\\/\\d+$/', 'allow-write'],
        ['/${USER}/*', 'allow-write'],
      ],
    },
  });
  for (const folder of ['in/deep', 'logs', 'alice']) mkdirSync(join(server.home, folder), { recursive: true });
  writeFileSync(join(server.home, 'secret.csv'), 'x');
  writeFileSync(join(server.home, 'plain'), 'x');
  const status = async (method: string, target: string) =>
    (await server.send(method, target, { body: method === 'PUT' ? 'x' : '' })).status;
  assert.equal(await status('PUT', '/home/in/deep/a.csv'), 201, 'the rule on /in/* comes first');
  assert.equal(await status('PUT', '/home/in'), 403, '/in/* does not match /in');
  assert.equal(await status('GET', '/home/plain'), 200);
  for (const name of ['secret.csv', 'SECRET.CSV', 'secret%2Ecsv', '/secret.csv', 'secret.csv/'])
    assert.equal(await status('GET', `/home/${name}`), 403, name);
  assert.equal(await status('PUT', '/home/logs/1'), 201);
  assert.equal(await status('PUT', '/home/logs/x'), 403);
  assert.equal(await status('PUT', '/home/alice/x'), 201);
});

test('no spelling of a name evades a rule: composed and decomposed characters, the capitals of a final sigma', async (t) => {
  const composed = '/Größe/*';
  const rules = [composed, '/ΤΟΜΕΑΣ/*'].map((path) => [path, 'deny-full-control']);
  const server = await startServer(t, { group: { permissions: [['allow-full-control'], ...rules] } });
  for (const folder of ['Größe', 'GRÖßE', 'τομεας', 'Τομεας'])
    for (const name of [folder.normalize('NFC'), folder.normalize('NFD')]) {
      mkdirSync(join(server.home, name), { recursive: true });
      writeFileSync(join(server.home, name, 'f'), 'x');
      const path = `/home/${encodeURIComponent(name)}`;
      for (const [method, target] of [
        ['GET', `${path}/f`],
        ['PUT', `${path}/g`],
        ['DELETE', `${path}/f`],
      ] as const)
        assert.equal((await server.send(method, target, { headers: json })).status, 403, `${method} ${decodeURIComponent(target)}`);
    }
});

test('a recursive delete checks every member before the first removal', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-full-control'], ['*.keep', 'allow-read']] } });
  mkdirSync(join(server.home, 'd/e/f'), { recursive: true });
  for (const name of ['d/a', 'd/e/b', 'd/e/f/x.keep']) writeFileSync(join(server.home, name), 'x');
  assert.equal((await server.send('DELETE', '/home/d/')).status, 403);
  for (const name of ['d/a', 'd/e/b', 'd/e/f/x.keep']) assert.ok(existsSync(join(server.home, name)), name);
  const reply = await server.commands('/home/', [{ command: 'delete', target: 'd' }]);
  assert.equal(reply.status, 422);
});

test('traverse does not show a virtual folder whose real path is a file', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'real'));
  writeFileSync(join(folder, 'secret'), 'x');
  const virtual_folders = ['real', 'secret'].map((name) => [`/${name}`, join(folder, name)]);
  const server = await startServer(t, { group: { permissions: [['allow-traverse']], virtual_folders } });
  const { text } = await server.send('GET', '/home/', { headers: json });
  assert.match(text, /"real"/);
  assert.doesNotMatch(text, /secret/);
});

test('traverse shows sub-folders only', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-traverse']] } });
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'f'), '');
  assert.deepEqual(await server.names('/home/'), ['d']);
});

test('the virtual folder with the longest matching path applies; virtual folders hide real items, and cannot be changed', async (t) => {
  const server = await startServer(t);
  await server.stop();
  const folder = server.folder;
  for (const name of ['shared/x', 'deep', 'home/shared', 'home/proj']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'shared/s.txt'), 'shared');
  writeFileSync(join(folder, 'deep/d.txt'), 'deep');
  writeFileSync(join(folder, 'home/shared/hidden.txt'), 'hidden');
  writeFileSync(join(folder, 'home/proj/hidden.txt'), 'hidden');
  const virtual = await startServer(t, {
    group: {
      home_folder_path: join(folder, 'home'),
      virtual_folders: [
        ['/shared', join(folder, 'shared')],
        ['/shared/x/deep', join(folder, 'deep')],
        ['/proj/a/b', join(folder, 'deep')],
      ],
    },
  });
  assert.deepEqual(await virtual.names('/home/'), ['proj', 'shared']);
  assert.deepEqual(await virtual.names('/home/shared/'), ['s.txt', 'x']);
  assert.deepEqual(await virtual.names('/home/shared/x/'), ['deep']);
  assert.equal((await virtual.get('/home/shared/x/deep/d.txt')).text, 'deep');
  assert.deepEqual(await virtual.names('/home/proj/'), ['a']);
  assert.deepEqual(await virtual.names('/home/proj/a/b/'), ['d.txt']);
  assert.equal((await virtual.get('/home/shared/hidden.txt')).status, 404);
  assert.equal((await virtual.get('/home/proj/hidden.txt')).status, 404);
  assert.equal((await virtual.put('/home/proj/new', 'x')).status, 403);
  for (const path of ['shared/', 'shared/x/deep/', 'shared/x/', 'proj/', 'proj/a/', 'proj/a/b/']) {
    assert.equal((await virtual.send('DELETE', `/home/${path}`)).status, 403, path);
    assert.equal((await virtual.send('PUT', `/home/${path}`)).status, 409, path);
    assert.equal((await virtual.put(`/home/${path.slice(0, -1)}`, 'x')).status, 409, path);
  }
  assert.equal((await virtual.put('/home/shared/new.txt', 'x')).status, 201);
  assert.equal(readFileSync(join(folder, 'shared/new.txt'), 'utf8'), 'x');
  const event = (await virtual.events()).findLast((candidate) => candidate.id === '40017');
  assert.equal(event?.data.path, '/shared/new.txt');
  assert.equal(event?.data.real_path, join(folder, 'shared/new.txt'));
  assert.equal(event?.data.directory_name, '/shared');
  symlinkSync(join(folder, 'deep/d.txt'), join(folder, 'home/link'));
  assert.equal((await virtual.get('/home/link')).text, 'deep', 'a symbolic link may lead into another folder of the account');
});

test('a home folder with ${USER} is created with its structure; if this is not allowed, the login fails', async (t) => {
  const server = await startServer(t);
  await server.stop();
  const group = { home_folder_path: `${server.folder}/homes/\${USER}`, home_folder_structure: ['in', ['out/sent'], '/abs'] };
  const created = await startServer(t, { group });
  assert.deepEqual(await created.names('/home/'), ['abs', 'in', 'out']);
  assert.ok(existsSync(`${server.folder}/homes/alice/out/sent`));
  assert.ok((await created.events()).some((event) => event.id === '20042'));
  await created.stop();
  const missing = await startServer(t, { group: { home_folder_path: `${server.folder}/nowhere/\${USER}`, create_home_folder: 'no' } });
  assert.equal((await missing.get('/home/')).status, 401);
  assert.deepEqual((await missing.eventIds()).slice(0, 2), [20067, 20142]);
});

test('disabled accounts and groups are rejected', async (t) => {
  const account = await startServer(t, { account: { enabled: 'no' } });
  assert.equal((await account.get('/home/')).status, 401);
  assert.ok((await account.eventIds()).includes(20136));
  const group = await startServer(t, { group: { enabled: false } });
  assert.equal((await group.get('/home/')).status, 401);
  assert.ok((await group.eventIds()).includes(20142));
});

test('anonymous admits requests without credentials, with the permissions of its group', async (t) => {
  const server = await startServer(t, {
    authentications: { local: { type: 'application' }, public: { type: 'anonymous', group: 'PUBLIC' } },
    groups: { PUBLIC: { home_folder_path: './public', permissions: [['allow-read', 'allow-list']] } },
  });
  const options = { user: null, headers: json };
  assert.equal((await server.get('/home/', options)).status, 200);
  assert.equal((await server.send('PUT', '/home/x', { user: null, body: 'x' })).status, 403);
  assert.equal((await server.get('/home/', { user: 'alice:wrong', headers: json })).status, 401, 'wrong credentials are not anonymous');
  assert.equal((await server.get('/home/', { headers: json })).status, 200);
});

test('uploads above file_write_size get 413, and those above the quota 507', async (t) => {
  const server = await startServer(t, { group: { file_write_size: 1000, quota_size: 2500 } });
  const body = (bytes: number) => Buffer.alloc(bytes, 1);
  assert.equal((await server.put('/home/a', body(1001))).status, 413);
  assert.equal((await server.put('/home/a', body(1001), { headers: { 'transfer-encoding': 'chunked' } })).status, 413);
  assert.equal((await server.put('/home/a', body(1000))).status, 201);
  assert.equal((await server.put('/home/b', body(1000))).status, 201);
  assert.equal((await server.put('/home/c', body(501))).status, 507);
  assert.equal((await server.put('/home/c', body(501), { headers: { 'transfer-encoding': 'chunked' } })).status, 507);
  assert.equal((await server.put('/home/c', body(500))).status, 201);
  assert.equal((await server.put('/home/a', body(1000))).status, 201, 'the replaced file frees its space');
  assert.equal((await server.send('DELETE', '/home/b')).status, 204);
  assert.equal((await server.put('/home/d', body(1000))).status, 201);
  assert.deepEqual(await server.names('/home/'), ['a', 'c', 'd']);
});

test('requests above maximum_request_size get 413', async (t) => {
  const server = await startServer(t, { service: { maximum_request_size: 1000 } });
  assert.equal((await server.put('/home/a', Buffer.alloc(1001))).status, 413);
  assert.equal((await server.put('/home/a', Buffer.alloc(1001), { headers: { 'transfer-encoding': 'chunked' } })).status, 413);
  assert.equal((await server.put('/home/a', Buffer.alloc(1000))).status, 201);
});
