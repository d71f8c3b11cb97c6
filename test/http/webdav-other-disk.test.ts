import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { otherDisk } from '../support/other-disk.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { smallDisk } from '../support/small-disk.ts';

/** Starts a server whose `/v` is on `disk`. */
async function withVirtual(t: TestContext, disk: string, group = {}, service = {}): Promise<TestServer> {
  return startServer(t, { group: { virtual_folders: [['/v', disk]], ...group }, service });
}

function move(server: TestServer, from: string, to: string, headers: Record<string, string> = {}) {
  return server.send('MOVE', `/home/${from}`, { headers: { destination: `/home/${to}`, ...headers } });
}

test('MOVE takes a file to another file system, and back', async (t) => {
  const disk = otherDisk(t);
  if (!disk) return;
  const server = await withVirtual(t, disk);
  const content = Buffer.alloc(3 * 1024 * 1024 + 5, 'svc');
  writeFileSync(join(server.home, 'a'), content);
  chmodSync(join(server.home, 'a'), 0o640);
  utimesSync(join(server.home, 'a'), 1_600_000_000, 1_700_000_000.1230004);
  assert.equal((await move(server, 'a', 'v/b')).status, 201);
  assert.deepEqual([readdirSync(server.home), readdirSync(disk)], [[], ['b']]);
  const stats = statSync(join(disk, 'b'));
  assert.deepEqual([stats.mtimeMs, stats.mode & 0o777, stats.size], [1_700_000_000_123, 0o640, content.length]);
  assert.ok(readFileSync(join(disk, 'b')).equals(content));
  writeFileSync(join(server.home, 'b'), 'old');
  assert.equal((await move(server, 'v/b', 'b', { overwrite: 'F' })).status, 412);
  assert.equal((await move(server, 'v/b', 'b')).status, 204);
  assert.ok(readFileSync(join(server.home, 'b')).equals(content));
  assert.deepEqual([readdirSync(server.home), readdirSync(disk)], [['b'], []]);
  assert.deepEqual(await server.eventIds(), [40062, 40055, 40056, 40062, 40055]);
});

test('MOVE takes a whole folder to another file system, also over a folder; symbolic links stay links', async (t) => {
  const disk = otherDisk(t);
  if (!disk) return;
  const server = await withVirtual(t, disk);
  mkdirSync(join(server.home, 'd/e/empty'), { recursive: true });
  writeFileSync(join(server.home, 'd/e/f'), 'F');
  symlinkSync('e/f', join(server.home, 'd/link'));
  utimesSync(join(server.home, 'd/e'), 1_600_000_000, 1_600_000_000);
  mkdirSync(join(disk, 'n/old'), { recursive: true });
  assert.equal((await move(server, 'd/', 'v/n/', { overwrite: 'T' })).status, 204);
  assert.deepEqual(readdirSync(server.home), []);
  assert.deepEqual(readdirSync(disk, { recursive: true, encoding: 'utf8' }).toSorted(), ['n', 'n/e', 'n/e/empty', 'n/e/f', 'n/link']);
  assert.equal(readlinkSync(join(disk, 'n/link')), 'e/f');
  assert.equal(statSync(join(disk, 'n/e')).mtimeMs, 1_600_000_000_000);
  assert.deepEqual(await server.eventIds(), [40063, 40026, 40065]);
});

test('COPY copies a file to another file system', async (t) => {
  const disk = otherDisk(t);
  if (!disk) return;
  const server = await withVirtual(t, disk);
  writeFileSync(join(server.home, 'a'), 'A');
  assert.equal((await server.send('COPY', '/home/a', { headers: { destination: '/home/v/a' } })).status, 201);
  assert.equal(readFileSync(join(disk, 'a'), 'utf8'), 'A');
});

test('a full disk at the destination leaves source and destination whole, and leaves no temporary file', async (t) => {
  const disk = smallDisk(t, 2000);
  if (!disk) return;
  // With this option, files may replace folders.
  const server = await withVirtual(t, disk, {}, { webdav_compatibility: true });
  mkdirSync(join(server.home, 'd'));
  for (let index = 0; index < 5; index++) writeFileSync(join(server.home, `d/${index}`), Buffer.alloc(1_000_000, index));
  writeFileSync(join(server.home, 'big'), Buffer.alloc(5_000_000, 'x'));
  mkdirSync(join(disk, 'old'));
  writeFileSync(join(disk, 'old/kept'), 'kept');
  for (const [method, from, to] of [
    ['MOVE', 'd/', 'v/n/'],
    ['MOVE', 'd/', 'v/old/'],
    ['MOVE', 'big', 'v/n'],
    ['COPY', 'big', 'v/n'],
    ['COPY', 'big', 'v/old'],
    ['MOVE', 'big', 'v/old'],
  ] as const) {
    const reply = await server.send(method, `/home/${from}`, { headers: { destination: `/home/${to}`, overwrite: 'T' } });
    assert.equal(reply.status, 507, `${method} ${from} ${to}: ${reply.text}`);
    assert.deepEqual(readdirSync(disk, { recursive: true, encoding: 'utf8' }).toSorted(), ['old', 'old/kept']);
    assert.deepEqual(readdirSync(server.home, { recursive: true, encoding: 'utf8' }).toSorted(), [
      'big',
      'd',
      'd/0',
      'd/1',
      'd/2',
      'd/3',
      'd/4',
    ]);
    assert.equal(statSync(join(server.home, 'd/4')).size, 1_000_000);
  }
});

test('a folder stays at its place if one of its members cannot be copied', async (t) => {
  const disk = otherDisk(t);
  if (!disk) return;
  const server = await withVirtual(t, disk);
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'd/a'), 'A');
  execFileSync('mkfifo', [join(server.home, 'd/fifo')]);
  assert.equal((await move(server, 'd/', 'v/n/')).status, 403);
  execFileSync('rm', [join(server.home, 'd/fifo')]);
  writeFileSync(join(server.home, 'd/.svc-0123456789abcdef01234567.part'), 'half');
  assert.equal((await move(server, 'd/', 'v/n/')).status, 503, 'an upload is running');
  assert.deepEqual([readdirSync(join(server.home, 'd')).length, readdirSync(disk)], [2, []]);
});

test('a source that changes while it is copied is kept whole', async (t) => {
  const disk = otherDisk(t);
  if (!disk) return;
  const server = await withVirtual(t, disk);
  mkdirSync(join(server.home, 'd'));
  for (let index = 0; index < 200; index++) writeFileSync(join(server.home, `d/f${index}`), Buffer.alloc(50_000, index));
  const moving = move(server, 'd/', 'v/n/');
  while (readdirSync(disk).length === 0) await new Promise(setImmediate);
  writeFileSync(join(server.home, 'd/f0'), 'changed');
  writeFileSync(join(server.home, 'd/new'), 'new');
  const { status } = await moving;
  assert.equal(status, 503);
  assert.equal(readdirSync(join(server.home, 'd')).length, 201);
  assert.deepEqual([readFileSync(join(server.home, 'd/f0'), 'utf8'), readFileSync(join(server.home, 'd/new'), 'utf8')], ['changed', 'new']);
  assert.deepEqual(readdirSync(disk), []);
  assert.deepEqual(readdirSync(server.home), ['d']);
});

test('a move to another file system within the account needs no free quota', async (t) => {
  const disk = otherDisk(t);
  if (!disk) return;
  const server = await withVirtual(t, disk, { quota_size: 1000 });
  writeFileSync(join(server.home, 'a'), 'x'.repeat(900));
  assert.equal((await move(server, 'a', 'v/a')).status, 201);
  assert.equal((await server.put('/home/b', 'x'.repeat(200))).status, 507);
  assert.ok(existsSync(join(disk, 'a')));
});
