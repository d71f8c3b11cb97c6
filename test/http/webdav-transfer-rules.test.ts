import assert from 'node:assert/strict';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';
import { plant, smallTree, tree } from '../support/tree.ts';

test('virtual folders are not moved or replaced, and a real folder with two paths is treated as one folder', async (t) => {
  const first = await startServer(t);
  await first.stop();
  const { home } = first;
  for (const name of ['d/inner', 'plain']) mkdirSync(join(home, name), { recursive: true });
  const server = await startServer(t, {
    group: {
      home_folder_path: home,
      virtual_folders: [
        ['/v', join(home, 'd/inner')],
        ['/p/q', join(home, 'plain')],
      ],
    },
  });
  writeFileSync(join(home, 'f'), 'F');
  writeFileSync(join(home, 'd/inner/g'), 'G');
  const move = async (from: string, to: string) => (await server.send('MOVE', from, { headers: { destination: to } })).status;
  assert.equal(await move('/home/v/', '/home/n/'), 403, 'the root of a virtual folder cannot be moved');
  assert.equal(await move('/home/p/', '/home/n/'), 403, 'the parent of a virtual folder cannot be moved');
  assert.equal(await move('/home/f', '/home/v'), 403, 'nothing can be moved over a virtual folder');
  assert.equal(await move('/home/plain/', '/home/v/'), 403);
  assert.equal(await move('/home/f', '/home/p/n'), 403, 'a folder that only leads to virtual folders gets no other members');
  assert.equal(await move('/home/d/', '/home/n/'), 403, 'a folder that contains the target of a virtual folder cannot be moved');
  assert.equal(await move('/home/d/', '/home/v/n/'), 403, 'a folder cannot be moved into itself through another path');
  assert.equal(await move('/home/v/g', '/home/d/inner/g'), 403, 'a file cannot be moved to its own second path');
  assert.equal((await server.send('COPY', '/home/v/g', { headers: { destination: '/home/d/inner/g' } })).status, 403);
  assert.equal(readFileSync(join(home, 'd/inner/g'), 'utf8'), 'G');
  assert.equal(await move('/home/v/g', '/home/p/q/g'), 201, 'a file can be moved between virtual folders');
  assert.equal(readFileSync(join(home, 'plain/g'), 'utf8'), 'G');
});

test('COPY and MOVE need permissions at the source and at the destination', async (t) => {
  const all = [
    'allow-read',
    'allow-list',
    'allow-write',
    'allow-rename',
    'allow-delete-file',
    'allow-delete-folder',
    'allow-create-folder',
  ];
  const without = (...missing: string[]) => all.filter((keyword) => !missing.includes(keyword));
  const table: [string, string, string[], string[], number][] = [
    ['COPY', 'n', ['allow-read'], ['allow-write'], 201],
    ['COPY', 'n', without('allow-read'), all, 403],
    ['COPY', 'n', all, without('allow-write'), 403],
    ['COPY', 'taken', ['allow-read'], ['allow-write'], 201],
    ['MOVE', 'n', ['allow-rename'], ['allow-rename'], 201],
    ['MOVE', 'n', without('allow-rename'), all, 403],
    ['MOVE', 'n', all, without('allow-rename'), 403],
    ['MOVE', 'taken', ['allow-rename'], ['allow-rename', 'allow-write'], 204],
    ['MOVE', 'taken', ['allow-rename'], ['allow-rename', 'allow-delete-file'], 204],
    ['MOVE', 'taken', ['allow-rename'], ['allow-rename'], 403],
  ];
  for (const [method, name, source, destination, status] of table) {
    const server = await startServer(t, { group: { permissions: [[], ['/from/*', ...source], ['/to/*', ...destination]] } });
    plant(server, { 'from/': '', 'from/a': 'A', 'to/': '', 'to/taken': 'old', 'to/folder/': '', 'to/folder/m': 'M' });
    const before = tree(server.home);
    const reply = await server.send(method, '/home/from/a', { headers: { destination: `/home/to/${name}` } });
    assert.equal(reply.status, status, `${method} ${name} ${source} -> ${destination}`);
    if (status === 403) assert.deepEqual(tree(server.home), before);
    else assert.equal(readFileSync(join(server.home, 'to', name), 'utf8'), 'A');
    await server.stop();
  }
});

test('replacing a folder needs permission to delete it and each of its members', async (t) => {
  const table: [string[], string[], number][] = [
    [['allow-rename'], [], 403],
    [['allow-rename', 'allow-delete-file'], [], 403],
    [['allow-rename', 'allow-delete-folder'], [], 403],
    [['allow-rename', 'allow-delete-file', 'allow-delete-folder'], [], 204],
    [['allow-rename', 'allow-delete-file', 'allow-delete-folder'], ['allow-rename', 'allow-delete-folder'], 403],
    [['allow-rename', 'allow-delete-folder'], ['allow-delete-file'], 204],
  ];
  for (const [there, below, status] of table) {
    const rules = [['/from/*', 'allow-rename'], ...(below.length > 0 ? [['/to/folder/m', ...below]] : []), ['/to/*', ...there]];
    const server = await startServer(t, { group: { permissions: [[], ...rules] } });
    plant(server, { 'from/': '', 'from/d/': '', 'from/d/x': 'X', 'to/': '', 'to/folder/': '', 'to/folder/m': 'M' });
    const before = tree(server.home);
    const headers = { destination: '/home/to/folder/', overwrite: 'T' };
    const reply = await server.send('MOVE', '/home/from/d/', { headers });
    assert.equal(reply.status, status, `${there} ${below}`);
    if (status === 403) assert.deepEqual(tree(server.home), before);
    else assert.deepEqual(tree(join(server.home, 'to')), { 'folder/': '', 'folder/x': 'X' });
    await server.stop();
  }
});

test('replacing an empty folder needs permission to delete folders', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-rename', 'allow-delete-folder']] } });
  plant(server, { 'd/': '', 'd/x': 'X', 'empty/': '' });
  const headers = { destination: '/home/empty/', overwrite: 'T' };
  assert.equal((await server.send('MOVE', '/home/d/', { headers })).status, 204);
  assert.deepEqual(tree(server.home), { 'empty/': '', 'empty/x': 'X' });
});

test('a refusal reveals nothing about existing items at the source or the destination', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-full-control'], ['/secret/*', 'deny-full-control']] } });
  plant(server, { a: 'A', 'secret/': '', 'secret/there': 'S' });
  for (const method of ['COPY', 'MOVE']) {
    const texts = new Set<string>();
    for (const [from, to] of [
      ['secret/there', 'n'],
      ['secret/none', 'n'],
      ['a', 'secret/there'],
      ['a', 'secret/none'],
    ]) {
      const reply = await server.send(method, `/home/${from}`, { headers: { destination: `/home/${to}`, overwrite: 'F' } });
      assert.equal(reply.status, 403);
      texts.add(reply.text);
    }
    assert.equal(texts.size, 1);
  }
});

test('a folder stays if one of its members must not be renamed or must not get its new path', async (t) => {
  const server = await startServer(t, {
    group: { permissions: [['allow-full-control'], ['*.keep', 'allow-read'], ['/e/deep/*', 'allow-read']] },
  });
  plant(server, { 'd/': '', 'd/sub/': '', 'd/sub/x.keep': 'K', 'f/': '', 'f/deep/': '', 'f/deep/y': 'Y' });
  const before = tree(server.home);
  for (const [from, to] of [
    ['d', 'n'],
    ['f', 'e'],
  ])
    assert.equal((await server.send('MOVE', `/home/${from}/`, { headers: { destination: `/home/${to}/` } })).status, 403);
  assert.deepEqual(tree(server.home), before);
});

test('If-Match, If-None-Match and conditions with dates apply to the source of COPY and MOVE', async (t) => {
  const server = await startServer(t);
  plant(server, smallTree);
  utimesSync(join(server.home, 'a'), 1_700_000_000, 1_700_000_000);
  const etag = String((await server.get('/home/a')).headers.etag);
  for (const method of ['COPY', 'MOVE']) {
    const send = async (headers: Record<string, string>) =>
      (await server.send(method, '/home/a', { headers: { destination: '/home/n', ...headers } })).status;
    for (const headers of [
      { 'if-match': '"other"' },
      { 'if-match': `W/${etag}` },
      { 'if-none-match': etag },
      { 'if-none-match': '*' },
      { 'if-unmodified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' },
      { if: '(["other"])' },
      { if: `(Not [${etag}])` },
      { if: '(<urn:uuid:none>)' },
    ])
      assert.equal(await send(headers), 412, JSON.stringify(headers));
    assert.equal(existsSync(join(server.home, 'n')), false);
    assert.equal(await send({ 'if-match': etag, if: `(["other"]) ([${etag}])` }), 201);
    if (method === 'COPY') await server.send('DELETE', '/home/n');
  }
});

test('a copy has the current time unless the request sends another time; quota and size limits apply', async (t) => {
  const server = await startServer(t, { group: { quota_size: 25, file_write_size: 12 } });
  plant(server, { a: '0123456789' });
  utimesSync(join(server.home, 'a'), 1_500_000_000, 1_500_000_000);
  assert.equal((await server.send('COPY', '/home/a', { headers: { destination: '/home/b' } })).status, 201);
  assert.ok(statSync(join(server.home, 'b')).mtimeMs > 1_600_000_000_000);
  const timed = await server.send('COPY', '/home/a', { headers: { destination: '/home/b', 'x-oc-mtime': '1500000000' } });
  assert.deepEqual([timed.status, timed.headers['x-oc-mtime']], [204, 'accepted']);
  assert.equal(statSync(join(server.home, 'b')).mtimeMs, 1_500_000_000_000);
  assert.equal((await server.send('COPY', '/home/a', { headers: { destination: '/home/c' } })).status, 507);
  writeFileSync(join(server.home, 'big'), 'x'.repeat(13));
  assert.equal((await server.send('COPY', '/home/big', { headers: { destination: '/home/b' } })).status, 413);
  assert.deepEqual(tree(server.home), { a: '0123456789', b: '0123456789', big: 'x'.repeat(13) });
});

test('MOVE moves a symbolic link itself, COPY copies its target; a MOVE from one hard link of a file to another leaves one of them', async (t) => {
  const server = await startServer(t);
  plant(server, smallTree);
  symlinkSync('a', join(server.home, 'link'));
  symlinkSync('/etc/hostname', join(server.home, 'out'));
  assert.equal((await server.send('COPY', '/home/link', { headers: { destination: '/home/copied' } })).status, 201);
  assert.equal(readFileSync(join(server.home, 'copied'), 'utf8'), 'A');
  assert.equal((await server.send('MOVE', '/home/link', { headers: { destination: '/home/link2' } })).status, 201);
  assert.equal((await server.get('/home/link2')).text, 'A');
  for (const method of ['COPY', 'MOVE'])
    assert.equal((await server.send(method, '/home/out', { headers: { destination: '/home/n' } })).status, 404, method);
  linkSync(join(server.home, 'b'), join(server.home, 'b2'));
  assert.equal((await server.send('MOVE', '/home/b', { headers: { destination: '/home/b2' } })).status, 204);
  assert.deepEqual([existsSync(join(server.home, 'b')), readFileSync(join(server.home, 'b2'), 'utf8')], [false, 'B']);
});

test('of many moves to one free name with Overwrite: F exactly one wins, and nothing is lost', async (t) => {
  const server = await startServer(t);
  for (let index = 0; index < 12; index++) writeFileSync(join(server.home, `f${index}`), String(index));
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      server.send('MOVE', `/home/f${index}`, { headers: { destination: '/home/n', overwrite: 'F' } }),
    ),
  );
  assert.equal(replies.filter((reply) => reply.status === 201).length, 1);
  assert.equal(readdirSync(server.home).length, 12);
});
