import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cheapHash } from '../support/passwords.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { asJson, type Shown, trashOf } from '../support/trash.ts';

const trash = { days: 30 };

const paths = (items: Shown[]) => items.map(({ path }) => path);

function restore(server: TestServer, id: string, body?: object) {
  return server.send('POST', `/home/__svc__/trash/${id}/restore`, body ? { headers: asJson, body: JSON.stringify(body) } : {});
}

test('the trash is in no listing, archive or search, and cannot be read, changed or moved to', async (t) => {
  const server = await startServer(t, { group: { trash } });
  writeFileSync(join(server.home, 'secret-plan'), 'x');
  writeFileSync(join(server.home, 'there'), 'x');
  await server.send('DELETE', '/home/secret-plan');
  const [item] = await trashOf(server);
  assert.ok(item);
  const listing = await server.get('/home/', { headers: { 'content-type': 'application/json' } });
  assert.deepEqual(
    listing.json<{ content: { name: string }[] }>().content.map(({ name }) => name),
    ['there'],
  );
  assert.equal((await server.get('/home/?search=secret', { headers: { accept: 'application/x-ndjson' } })).text, '');
  const zip = await server.get('/home/', { headers: { accept: 'application/zip' } });
  assert.ok(!zip.text.includes('secret-plan') && !zip.text.includes('.svc-trash') && !zip.text.includes(item.id));
  assert.ok(!(await server.send('PROPFIND', '/home/', { headers: { depth: '1' } })).text.includes('svc-trash'));
  const account = readdirSync(join(server.home, '.svc-trash'))[0];
  for (const name of ['.svc-trash', '.SVC-TRASH', `.svc-trash/${account}/${item.id}`]) {
    for (const method of ['GET', 'PUT', 'DELETE', 'PROPFIND', 'MKCOL'])
      assert.equal((await server.send(method, `/home/${name}${method === 'MKCOL' ? '/' : ''}`)).status, 403, `${method} ${name}`);
    assert.equal((await server.send('MOVE', '/home/there', { headers: { destination: `/home/${name}` } })).status, 403);
  }
  assert.deepEqual(paths(await trashOf(server)), ['/secret-plan']);
});

test('if two accounts share a home folder, neither sees, restores or removes the items of the other', async (t) => {
  const server = await startServer(t, { group: { trash }, accounts: { bob: { password: await cheapHash('bobs-words') } } });
  const user = 'bob:bobs-words';
  for (const name of ['a', 'b']) writeFileSync(join(server.home, name), name);
  assert.equal((await server.send('DELETE', '/home/a')).status, 204);
  assert.equal((await server.send('DELETE', '/home/b', { user })).status, 204);
  assert.deepEqual(paths(await trashOf(server)), ['/a']);
  assert.deepEqual(paths(await trashOf(server, user)), ['/b']);
  const [item] = await trashOf(server);
  assert.equal((await server.send('POST', `/home/__svc__/trash/${item?.id}/restore`, { user })).status, 404);
  assert.equal((await server.send('DELETE', `/home/__svc__/trash/${item?.id}`, { user })).status, 404);
  assert.equal((await server.send('DELETE', '/home/__svc__/trash', { user })).status, 204);
  assert.deepEqual([paths(await trashOf(server)), await trashOf(server, user)], [['/a'], []]);
});

test('paths that leave the home folder, reserved names and malformed bodies restore nothing', async (t) => {
  const server = await startServer(t, { group: { trash } });
  writeFileSync(join(server.home, 'a'), 'content');
  await server.send('DELETE', '/home/a');
  const [item] = await trashOf(server);
  assert.ok(item);
  for (const [path, status] of [
    ['/../a', 400],
    ['../a', 400],
    ['/x/../../a', 400],
    ['..', 400],
    ['/', 400],
    ['', 400],
    ['/a\u0000b', 400],
    ['/a\u0001b', 400],
    ['/new\u0001folder/a', 400],
    ['/.svc-trash/a', 403],
    ['/__svc__/a', 403],
    ['__svc__', 403],
    [7, 400],
  ] as const)
    assert.equal((await restore(server, item.id, { path })).status, status, String(path));
  assert.equal((await restore(server, item.id, { paths: '/b' })).status, 400);
  assert.equal((await server.send('POST', `/home/__svc__/trash/${item.id}/restore`, { body: 'path=/b' })).status, 415);
  const bad = { headers: { ...asJson, origin: 'http://elsewhere.example' } };
  assert.equal(
    (await server.send('POST', `/home/__svc__/trash/${item.id}/restore`, bad)).status,
    400,
    'a request from another origin is refused',
  );
  for (const id of ['.', '..', '%2e%2e', 'x', `${item.id}.json`, item.id.toUpperCase(), `${item.id}%00`, '..%2f..%2fa']) {
    const { status } = await server.send('DELETE', `/home/__svc__/trash/${id}`);
    assert.ok([400, 403, 404].includes(status), `${id} ${status}`);
  }
  assert.deepEqual(readdirSync(server.home), ['.svc-trash']);
  assert.equal((await restore(server, item.id)).status, 201);
  for (const [method, url] of [
    ['PUT', 'trash'],
    ['GET', `trash/${item.id}`],
    ['GET', `trash/${item.id}/restore`],
  ] as const)
    assert.equal((await server.send(method, `/home/__svc__/${url}`)).status, 405, `${method} ${url}`);
  assert.equal((await server.send('GET', '/home/__svc__/trash', { user: null })).status, 401);
});

test('existing names with control characters go to the trash, and can only be restored under a valid name', async (t) => {
  const server = await startServer(t, { group: { trash } });
  writeFileSync(join(server.home, 'bad\u0001name'), 'content');
  assert.equal((await server.send('DELETE', '/home/bad%01name')).status, 204);
  const [item] = await trashOf(server);
  assert.equal(item?.path, '/bad\u0001name');
  assert.equal((await restore(server, item.id)).status, 400);
  assert.equal((await restore(server, item.id, { path: 'good' })).status, 201);
  assert.equal(readFileSync(join(server.home, 'good'), 'utf8'), 'content');
});

test('a deleted symbolic link is restored as a link, and a symbolic link in place of the trash is not followed', async (t) => {
  const server = await startServer(t, { group: { trash } });
  mkdirSync(join(server.home, 'real'));
  writeFileSync(join(server.home, 'real/file'), 'kept');
  symlinkSync('real', join(server.home, 'link'));
  assert.equal((await server.send('DELETE', '/home/link/')).status, 204);
  assert.deepEqual(readdirSync(join(server.home, 'real')), ['file'], 'its target stays');
  const [item] = await trashOf(server);
  assert.deepEqual([item?.path, item?.size], ['/link', 0]);
  assert.equal((await restore(server, item?.id ?? '')).status, 201);
  assert.equal(readFileSync(join(server.home, 'link/file'), 'utf8'), 'kept');

  const outside = join(server.folder, 'outside');
  mkdirSync(outside);
  const account = readdirSync(join(server.home, '.svc-trash'))[0] ?? '';
  rmSync(join(server.home, '.svc-trash', account), { recursive: true });
  symlinkSync(join(server.home, 'real'), join(server.home, '.svc-trash', account));
  assert.equal((await server.send('DELETE', '/home/real/file')).status, 403, 'a trash that is a link inside the home folder is not used');
  rmSync(join(server.home, '.svc-trash'), { recursive: true });
  symlinkSync(outside, join(server.home, '.svc-trash'));
  const refused = await server.send('DELETE', '/home/real/file', { mayFail: true });
  assert.ok(refused.status >= 400, 'a trash that is a link to the outside is not used');
  assert.deepEqual([readdirSync(outside), readFileSync(join(server.home, 'real/file'), 'utf8')], [[], 'kept']);
});

test('restoring needs the right to write at the new place; removal for good needs the right to delete at the old place', async (t) => {
  const rules = (...general: string[]) => [
    general,
    ['/shut/*', 'allow-list'],
    ['/drop/*', 'allow-write', 'allow-list'],
    ['/tree/no/*', 'allow-delete-file', 'allow-list'],
  ];
  const all = ['allow-read', 'allow-list', 'allow-write', 'allow-delete-file', 'allow-delete-folder', 'allow-create-folder'];
  const server = await startServer(t, { group: { trash, permissions: rules(...all) } });
  for (const folder of ['shut', 'drop', 'tree/no', 'gone']) mkdirSync(join(server.home, folder), { recursive: true });
  for (const name of ['a', 'drop/b', 'gone/c']) assert.equal((await server.put(`/home/${name}`, name)).status, 201, name);
  writeFileSync(join(server.home, 'tree/no/d'), 'd');
  assert.equal((await server.send('DELETE', '/home/a')).status, 204);
  assert.equal((await server.put('/home/drop/b', 'newer')).status, 201);
  assert.equal((await server.send('DELETE', '/home/gone/c')).status, 204);
  assert.equal((await server.send('DELETE', '/home/tree/')).status, 204);
  const byPath = Object.fromEntries((await trashOf(server)).map(({ path, id }) => [path, id]));
  const id = (path: string) => byPath[path] ?? assert.fail(path);
  assert.equal((await restore(server, id('/a'), { path: '/shut/a' })).status, 403, 'the account has no right to write at the new place');
  assert.equal((await restore(server, id('/tree'))).status, 403, 'the account has no right to write a member of the folder');
  assert.equal(
    (await server.send('DELETE', `/home/__svc__/trash/${id('/drop/b')}`)).status,
    403,
    'the account may replace but not delete there',
  );
  rmSync(join(server.home, 'drop/b'));
  assert.equal((await restore(server, id('/drop/b'))).status, 201);
  assert.equal(readFileSync(join(server.home, 'drop/b'), 'utf8'), 'drop/b');
  assert.equal((await restore(server, id('/gone/c'), { path: '/shut/x/c' })).status, 403);
  assert.equal((await server.put('/home/drop/b', 'newest')).status, 201);
  const rest = await server.send('DELETE', '/home/__svc__/trash');
  assert.equal(rest.status, 422, 'items that the account may not remove stay');
  assert.deepEqual(paths(await trashOf(server)), ['/drop/b']);
});

test('deleting a retained file or its folder, or uploading over the file, is refused, and moves nothing to the trash', async (t) => {
  const server = await startServer(t, { group: { trash, retain: { days: 1 } } });
  mkdirSync(join(server.home, 'folder'));
  assert.equal((await server.put('/home/folder/a', 'kept')).status, 201);
  assert.equal((await server.send('DELETE', '/home/folder/a')).status, 403);
  assert.equal((await server.send('DELETE', '/home/folder/')).status, 403);
  assert.equal((await server.put('/home/folder/a', 'other')).status, 403);
  assert.deepEqual([await trashOf(server), readFileSync(join(server.home, 'folder/a'), 'utf8')], [[], 'kept']);
});

test('a restoration creates a missing folder only with the permission to create folders', async (t) => {
  const permissions = [['allow-read', 'allow-list', 'allow-write', 'allow-delete-file', 'allow-delete-folder']];
  const server = await startServer(t, { group: { trash, permissions } });
  mkdirSync(join(server.home, 'folder'));
  writeFileSync(join(server.home, 'folder/a'), 'a');
  await server.send('DELETE', '/home/folder/a');
  rmSync(join(server.home, 'folder'), { recursive: true });
  const [item] = await trashOf(server);
  assert.equal((await restore(server, item?.id ?? '')).status, 409);
  assert.equal((await restore(server, item?.id ?? '', { path: '/a' })).status, 201);
});
