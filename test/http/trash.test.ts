import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { append, begin, content } from '../support/draft-uploads.ts';
import { otherDisk } from '../support/other-disk.ts';
import { testBasic } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { asJson, type Shown, trashOf } from '../support/trash.ts';

const trash = { days: 30 };

/** Returns the events that may concern the trash: ID, path, and the reason, or else the former path, or else `trashed`. */
async function told(server: TestServer): Promise<unknown[]> {
  const ids = ['40012', '40026', '40017', '40055', '40065', '40068', '40101', '40102'];
  return (await server.events())
    .filter(({ id }) => ids.includes(id))
    .map(({ id, data }) => [Number(id), data.path, data.reason ?? data.trashed_path ?? data.trashed]);
}

const paths = (items: Shown[]) => items.map(({ path }) => path);

function restore(server: TestServer, id: string, body?: object) {
  return server.send('POST', `/home/__svc__/trash/${id}/restore`, body ? { headers: asJson, body: JSON.stringify(body) } : {});
}

test('items that are deleted or replaced over REST can be restored unchanged, and events report it', async (t) => {
  const server = await startServer(t, { group: { trash } });
  assert.equal((await server.put('/home/a.txt', 'first')).status, 201);
  utimesSync(join(server.home, 'a.txt'), 1_600_000_000, 1_600_000_000);
  assert.equal((await server.put('/home/a.txt', 'second')).status, 201);
  mkdirSync(join(server.home, 'folder/deep'), { recursive: true });
  writeFileSync(join(server.home, 'folder/deep/x'), 'deep content');
  assert.equal((await server.send('DELETE', '/home/folder/')).status, 204);
  assert.equal((await server.send('DELETE', '/home/a.txt')).status, 204);
  assert.deepEqual(readdirSync(server.home), ['.svc-trash']);

  const listed = await trashOf(server);
  assert.deepEqual(
    listed.map(({ path, size, is_directory, by }) => [path, size, is_directory, by]),
    [
      ['/a.txt', 6, false, 'alice'],
      ['/folder', 12, true, 'alice'],
      ['/a.txt', 5, false, 'alice'],
    ],
  );
  const [second, folder, first] = listed as [Shown, Shown, Shown];
  assert.deepEqual(Object.keys(second), ['id', 'path', 'size', 'is_directory', 'deleted', 'by']);
  assert.ok(Math.abs(second.deleted - Date.now() / 1000) < 600, 'the time is in seconds');

  const back = await restore(server, first.id);
  assert.deepEqual([back.status, back.headers['server-path'], back.text], [201, '/a.txt', '']);
  assert.equal(readFileSync(join(server.home, 'a.txt'), 'utf8'), 'first');
  assert.equal(statSync(join(server.home, 'a.txt')).mtimeMs, 1_600_000_000_000, 'times are kept');
  assert.equal((await restore(server, second.id)).status, 409, 'the name is taken');
  const renamed = await restore(server, second.id, { path: '/made/again/b.txt' });
  assert.deepEqual([renamed.status, renamed.headers['server-path']], [201, '/made/again/b.txt']);
  assert.equal(readFileSync(join(server.home, 'made/again/b.txt'), 'utf8'), 'second');
  assert.equal((await restore(server, folder.id)).status, 201);
  assert.equal(readFileSync(join(server.home, 'folder/deep/x'), 'utf8'), 'deep content');
  assert.deepEqual(await trashOf(server), []);
  assert.equal((await restore(server, folder.id)).status, 404, 'a restored item is no longer in the trash');
  assert.deepEqual(await told(server), [
    [40017, '/a.txt', undefined],
    [40017, '/a.txt', true],
    [40026, '/folder', true],
    [40012, '/a.txt', true],
    [40101, '/a.txt', '/a.txt'],
    [40101, '/made/again/b.txt', '/a.txt'],
    [40101, '/folder', '/folder'],
  ]);
});

test('MOVE, COPY, forms, folder commands and resumable uploads keep the items that they replace or delete', async (t) => {
  const server = await startServer(t, { group: { trash }, service: { webdav_compatibility: true } });
  const write = (name: string, text = name) => {
    mkdirSync(join(server.home, name, '..'), { recursive: true });
    writeFileSync(join(server.home, name), text);
  };
  const newest = async () => {
    const [item] = await trashOf(server);
    assert.ok(item);
    return [item.path, item.size, item.is_directory];
  };
  write('a');
  write('taken', 'was there');
  assert.equal((await server.send('MOVE', '/home/a', { headers: { destination: '/home/taken' } })).status, 204);
  assert.deepEqual(await newest(), ['/taken', 9, false]);
  write('b');
  assert.equal((await server.send('COPY', '/home/b', { headers: { destination: '/home/taken' } })).status, 204);
  assert.deepEqual(await newest(), ['/taken', 1, false]);
  write('from/x', 'new');
  write('to/y', 'old one');
  assert.equal((await server.send('MOVE', '/home/from/', { headers: { destination: '/home/to/', overwrite: 'T' } })).status, 204);
  assert.deepEqual(await newest(), ['/to', 7, true]);
  assert.deepEqual(readdirSync(join(server.home, 'to')), ['x']);
  write('onto/z', 'in folder');
  assert.equal((await server.send('COPY', '/home/b', { headers: { destination: '/home/onto', overwrite: 'T' } })).status, 204);
  assert.deepEqual(await newest(), ['/onto', 9, true]);
  write('tree/t');
  write('leaf', 'a file');
  assert.equal((await server.send('MOVE', '/home/tree/', { headers: { destination: '/home/leaf', overwrite: 'T' } })).status, 204);
  assert.deepEqual(await newest(), ['/leaf', 6, false]);
  assert.ok(existsSync(join(server.home, 'leaf/t')));

  write('one');
  write('two');
  write('moved/two');
  assert.equal((await server.commands('/home/', [{ command: 'delete', target: 'one' }])).status, 200);
  assert.deepEqual(await newest(), ['/one', 3, false]);
  const over = [{ command: 'move', target: 'two', destination: 'moved', overwrite: true }];
  assert.equal((await server.commands('/home/', over)).status, 200);
  assert.deepEqual(await newest(), ['/moved/two', 9, false]);
  const form = { headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' } };
  const deleted = await server.send('POST', '/home/moved/', { ...form, body: 'action=delete-members&selected-members=two' });
  assert.equal(deleted.status, 200, deleted.text);
  assert.deepEqual(await newest(), ['/moved/two', 3, false]);

  write('resumed', 'short');
  const url = await begin(server, 'resumed', content.subarray(0, 1000));
  const end = await server.send('PATCH', url, { headers: append(1000, true), body: content.subarray(1000) });
  assert.equal(end.status, 201, end.text);
  assert.deepEqual(await newest(), ['/resumed', 5, false]);
  assert.ok(readFileSync(join(server.home, 'resumed')).equals(content));

  for (const [index, { id, size, is_directory }] of (await trashOf(server)).entries()) {
    assert.equal((await restore(server, id, { path: `/back/${index}` })).status, 201);
    if (!is_directory) assert.equal(statSync(join(server.home, `back/${index}`)).size, size);
  }
  assert.deepEqual(
    (await server.events()).filter(({ data }) => data.replaced && !data.trashed),
    [],
    'the event of the replacement says that the old file is in the trash',
  );
});

test('the folder command "restore" accepts IDs of items; an item that cannot be restored has its own error', async (t) => {
  const server = await startServer(t, { group: { trash } });
  for (const name of ['a', 'b']) {
    writeFileSync(join(server.home, name), name);
    await server.send('DELETE', `/home/${name}`);
  }
  writeFileSync(join(server.home, 'a'), 'another');
  const ids = (await trashOf(server)).map(({ id }) => id);
  const reply = await server.commands('/home/', [{ command: 'restore', target: [...ids, 'ffff', '../../etc/passwd'] }]);
  assert.equal(reply.status, 422);
  const { errors } = reply.json<{ errors: { target: string; message: string | null }[] }>();
  assert.deepEqual(
    errors.map(({ target, message }) => [target, message === null]),
    [...ids.map((id, index) => [id, index === 0]), ['ffff', false], ['../../etc/passwd', false]],
  );
  assert.equal(readFileSync(join(server.home, 'b'), 'utf8'), 'b');
  assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'another');
  assert.deepEqual(paths(await trashOf(server)), ['/a']);
});

test('DELETE removes one or all items of the trash for good; without a trash nothing is kept', async (t) => {
  const server = await startServer(t, { groups: { keeping: { home_folder_path: '', trash } }, account: { trash: { days: 0 } } });
  writeFileSync(join(server.home, 'gone'), 'x');
  assert.equal((await server.send('DELETE', '/home/gone')).status, 204);
  assert.deepEqual([await trashOf(server), readdirSync(server.home)], [[], []]);

  const kept = await startServer(t, { account: { trash } });
  for (const name of ['a', 'b', 'c']) {
    writeFileSync(join(kept.home, name), name);
    await kept.send('DELETE', `/home/${name}`);
  }
  const [, b] = await trashOf(kept);
  assert.ok(b);
  assert.equal((await kept.send('DELETE', `/home/__svc__/trash/${b.id}`)).status, 204);
  assert.equal((await kept.send('DELETE', `/home/__svc__/trash/${b.id}`)).status, 404);
  assert.deepEqual(paths(await trashOf(kept)), ['/c', '/a']);
  assert.equal((await kept.send('DELETE', '/home/__svc__/trash')).status, 204);
  assert.deepEqual(await trashOf(kept), []);
  const folder = join(kept.home, '.svc-trash');
  assert.deepEqual(readdirSync(join(folder, readdirSync(folder)[0] ?? '')), [], 'no item of the trash is on disk');
  assert.deepEqual((await told(kept)).slice(-3), [
    [40102, '/b', 'person'],
    [40102, '/c', 'person'],
    [40102, '/a', 'person'],
  ]);
});

test('the quota counts the trash; the oldest items make room, unless the file would not fit even then', async (t) => {
  const server = await startServer(t, { group: { trash, quota_size: 1000 } });
  for (const name of ['old', 'middle', 'young']) {
    assert.equal((await server.put(`/home/${name}`, Buffer.alloc(250, name))).status, 201);
    assert.equal((await server.send('DELETE', `/home/${name}`)).status, 204);
  }
  assert.equal((await server.put('/home/large', Buffer.alloc(1001))).status, 507);
  assert.deepEqual(paths(await trashOf(server)), ['/young', '/middle', '/old'], 'no item is removed for a file that would not fit');
  assert.equal((await server.put('/home/fits', Buffer.alloc(250))).status, 201);
  assert.deepEqual(paths(await trashOf(server)), ['/young', '/middle', '/old']);
  assert.equal((await server.put('/home/more', Buffer.alloc(300))).status, 201);
  assert.deepEqual(paths(await trashOf(server)), ['/young'], 'the two oldest items were removed to make room');
  assert.equal((await server.put('/home/fits', Buffer.alloc(260))).status, 201, 'the replaced file is kept if it fits');
  assert.deepEqual(paths(await trashOf(server)), ['/fits']);
  assert.equal((await server.put('/home/more', Buffer.alloc(700))).status, 201, 'a file can be replaced even if the quota is used up');
  assert.equal((await server.put('/home/another', Buffer.alloc(41))).status, 507);
  assert.equal((await server.put('/home/another', Buffer.alloc(40))).status, 201);
  assert.deepEqual(
    (await server.events()).filter(({ id }) => id === '40102').map(({ data }) => [data.path, data.reason]),
    [
      ['/old', 'quota'],
      ['/middle', 'quota'],
      ['/young', 'quota'],
      ['/fits', 'quota'],
    ],
  );
});

test('items on another file system than the home folder go to the trash and can be restored', async (t) => {
  const disk = otherDisk(t);
  if (!disk) return;
  const server = await startServer(t, { group: { trash, virtual_folders: [['/v', disk]] } });
  writeFileSync(join(disk, 'a'), 'on the other disk');
  assert.equal((await server.send('DELETE', '/home/v/a')).status, 204);
  assert.deepEqual(readdirSync(disk), ['.svc-trash'], 'a virtual folder has a trash of its own');
  const [item] = await trashOf(server);
  assert.equal(item?.path, '/v/a');
  assert.equal((await server.send('DELETE', '/home/v/')).status, 403);
  assert.equal((await restore(server, item?.id ?? '', { path: '/across' })).status, 201);
  assert.equal(readFileSync(join(server.home, 'across'), 'utf8'), 'on the other disk');
  assert.deepEqual(await trashOf(server), []);
});

test('an upload fails if its folder goes to the trash, and leaves nothing in the folder', async (t) => {
  const server = await startServer(t, { group: { trash } });
  mkdirSync(join(server.home, 'folder'));
  writeFileSync(join(server.home, 'folder/kept'), 'kept');
  const url = await begin(server, 'folder/unfinished', content);
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let started: () => void = () => undefined;
  const underWay = new Promise<void>((resolve) => {
    started = resolve;
  });
  async function* body() {
    yield Buffer.alloc(200_000);
    started();
    await gate;
    yield Buffer.alloc(10);
  }
  const upload = fetch(`${server.url}/home/folder/late`, {
    method: 'PUT',
    body: ReadableStream.from(body()),
    headers: { authorization: testBasic },
    duplex: 'half',
  } as RequestInit);
  await underWay;
  assert.equal((await server.send('DELETE', '/home/folder/')).status, 204);
  release();
  assert.equal((await upload).status, 409);
  assert.equal((await server.send('PATCH', url, { headers: append(content.length, true) })).status, 410);
  const [item] = await trashOf(server);
  assert.equal((await restore(server, item?.id ?? '')).status, 201);
  assert.deepEqual(readdirSync(join(server.home, 'folder')), ['kept']);
});
