import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';
import { assertChangesRefused, fillDisk, smallDisk } from '../support/small-disk.ts';

test('on a full disk an upload gets 507, the old file stays whole, and no temporary file is left', async (t) => {
  const disk = smallDisk(t, 4000);
  if (!disk) return;
  const server = await startServer(t, { group: { home_folder_path: disk } });
  assert.equal((await server.put('/home/a', 'old')).status, 201);
  for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
    assert.equal((await server.put('/home/a', Buffer.alloc(6_000_000, 1), { headers })).status, 507);
    assert.deepEqual(readdirSync(disk), ['a']);
    assert.equal(readFileSync(join(disk, 'a'), 'utf8'), 'old');
  }
  assert.equal((await server.put('/home/b', 'still works')).status, 201);
});

test('a resumable upload ends with 507 if the disk fills up; the old file stays whole, and no temporary file is left', async (t) => {
  const disk = smallDisk(t, 4000);
  if (!disk) return;
  const server = await startServer(t, { group: { home_folder_path: disk } });
  assert.equal((await server.put('/home/a', 'old')).status, 201);
  const begun = await server.put('/home/a', Buffer.alloc(2_000_000, 1), { headers: { 'upload-complete': '?0' } });
  assert.equal(begun.status, 201);
  const url = String(begun.headers.location);
  const append = { 'upload-offset': '2000000', 'upload-complete': '?1', 'content-type': 'application/partial-upload' };
  const full = await server.send('PATCH', url, { headers: append, body: Buffer.alloc(4_000_000, 1) });
  assert.deepEqual([full.status, full.headers['upload-complete']], [507, '?1']);
  assert.deepEqual(readdirSync(disk), ['a']);
  assert.equal(readFileSync(join(disk, 'a'), 'utf8'), 'old');
  assert.equal((await server.send('HEAD', url)).status, 410);
});

test('if the disk of the journal is full, changes are refused and reads work; with free space, changes work again', async (t) => {
  const disk = smallDisk(t, 4000);
  if (!disk) return;
  const server = await startServer(t, { server: { data_folder_path: join(disk, 'data') } });
  mkdirSync(join(server.home, 'd'));
  assert.equal((await server.put('/home/a', 'old')).status, 201);
  fillDisk(join(disk, 'filler'));
  for (let index = 0; index < 20; index++) await server.get('/home/a');
  assert.equal((await server.get('/home/a')).text, 'old');
  await assertChangesRefused(server, 507);
  assert.equal((await server.send('DELETE', '/home/d/')).status, 507);
  assert.equal((await server.commands('/home/', [{ command: 'delete', target: 'a' }])).status, 422);
  assert.deepEqual(readdirSync(server.home), ['a', 'd']);
  assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'old');
  truncateSync(join(disk, 'filler'), 0);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  assert.equal((await server.put('/home/a', 'new')).status, 201);
});
