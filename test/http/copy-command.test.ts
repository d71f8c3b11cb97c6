import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { until } from '../support/receiver.ts';
import { watchOutput } from '../support/secret-watch.ts';
import { testUser } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';

interface Item {
  target: string;
  message: string | null;
  progress?: { done: number; total: number };
}

const lines = { accept: 'application/x-ndjson', prefer: 'progress', 'content-type': 'application/json' };

function makeTree({ home }: TestServer): void {
  mkdirSync(join(home, 'tree/sub/deep'), { recursive: true });
  mkdirSync(join(home, 'tree/empty'));
  mkdirSync(join(home, 'to'));
  for (const name of ['tree/a', 'tree/sub/b', 'tree/sub/deep/c']) writeFileSync(join(home, name), name);
}

async function copy(server: TestServer, target: string, destination: string): Promise<Item[]> {
  const reply = await server.send('POST', '/home/', {
    headers: lines,
    body: JSON.stringify({ commands: [{ command: 'copy', target, destination }] }),
  });
  assert.equal(reply.status, 200, reply.text);
  return reply.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Item);
}

const messageOf = (items: Item[]) => items.at(-1)?.message;

test('a folder is copied without symbolic links, with progress and events, but not over a name or into itself', async (t) => {
  const server = await startServer(t);
  makeTree(server);
  symlinkSync('a', join(server.home, 'tree/link'));
  const items = await copy(server, 'tree', 'to');
  assert.deepEqual(items[0], { target: 'tree', progress: { done: 4, total: 7 } });
  assert.deepEqual(items.at(-1), { target: 'tree', message: null });
  assert.deepEqual(readdirSync(join(server.home, 'to/tree'), { recursive: true }).sort(), [
    'a',
    'empty',
    'sub',
    'sub/b',
    'sub/deep',
    'sub/deep/c',
  ]);
  assert.equal(readFileSync(join(server.home, 'to/tree/sub/deep/c'), 'utf8'), 'tree/sub/deep/c');
  const ids = await server.eventIds();
  assert.deepEqual(
    [40010, 40061, 40068].map((id) => ids.filter((other) => other === id).length),
    [4, 3, 3],
  );
  assert.equal(messageOf(await copy(server, 'tree', 'to')), 'The name is taken at the destination.');
  assert.equal(messageOf(await copy(server, 'tree', 'tree/sub')), 'A folder cannot be copied or moved into itself.');
  const silent = await server.commands('/home/', [{ command: 'copy', target: 'tree', destination: 'to/tree/empty' }]);
  assert.deepEqual([silent.status, silent.json()], [200, { results: [{ target: 'tree' }] }], 'progress is sent only on request');
  const form = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' };
  const body = new URLSearchParams({ action: 'copy', 'selected-members': 'tree', destination: 'to/tree/sub/deep' }).toString();
  assert.equal((await server.send('POST', '/home/', { headers: form, body })).status, 303);
  assert.ok(existsSync(join(server.home, 'to/tree/sub/deep/tree/sub/deep/c')));
});

test('copy of a folder: a missing right for one member, or a lack of space for all, is found before anything is created', async (t) => {
  const permissions = [['allow-full-control'], ['/tree/sub/deep/*', 'allow-list'], ['/narrow/tree/sub/*', 'allow-read']];
  const server = await startServer(t, {
    groups: { hidden: { permissions }, small: { quota_size: 100_000 } },
    accounts: {},
    account: { group: 'hidden' },
  });
  makeTree(server);
  mkdirSync(join(server.home, 'narrow'));
  mkdirSync(join(server.home, 'tree2'));
  for (const [target, destination] of [
    ['tree', 'to'],
    ['tree', 'narrow'],
  ] as const) {
    assert.match(String(messageOf(await copy(server, target, destination))), /not permitted|permission/i);
    assert.deepEqual(readdirSync(join(server.home, destination)), []);
  }
  const full = await startServer(t, { group: { quota_size: 100_000 } });
  makeTree(full);
  for (const name of ['tree/a', 'tree/sub/b']) truncateSync(join(full.home, name), 40_000);
  assert.equal(messageOf(await copy(full, 'tree', 'to')), 'The quota of this account is used up.');
  assert.deepEqual(readdirSync(join(full.home, 'to')), []);
});

test('copy of a folder with stop-when-gone: when the client leaves, copying ends; copied files stay, and none is partial', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'many'));
  mkdirSync(join(server.home, 'to'));
  for (let index = 0; index < 1500; index++) writeFileSync(join(server.home, `many/${index}`), 'content');
  const url = new URL(server.url);
  const headers = { ...lines, prefer: 'progress, stop-when-gone' };
  const outgoing = request({ hostname: url.hostname, port: url.port, method: 'POST', path: '/home/', headers, auth: testUser });
  outgoing.on('error', () => {});
  outgoing.on('response', (reply) => {
    reply.on('error', () => {});
    reply.on('data', () => copied().length > 0 && reply.destroy());
  });
  outgoing.end(JSON.stringify({ commands: [{ command: 'copy', target: 'many', destination: 'to' }] }));
  const copied = () => (existsSync(join(server.home, 'to/many')) ? readdirSync(join(server.home, 'to/many')) : []);
  await until('some files are copied', () => copied().length > 0);
  let before = -1;
  await until('no more files are copied', async () => {
    const now = copied().length;
    const isQuiet = now === before;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return isQuiet;
  });
  assert.ok(before > 0 && before < 1500, `${before}`);
  for (const name of copied()) assert.equal(readFileSync(join(server.home, 'to/many', name), 'utf8'), 'content');
});

/** Returns a folder on XFS, whose files can share content. If XFS cannot be mounted, the test is skipped with a reason. */
function sharingDisk(t: TestContext): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'svc-xfs-'));
  const image = `${folder}.img`;
  try {
    writeFileSync(image, '');
    truncateSync(image, 400_000_000);
    execFileSync('mkfs.xfs', ['-q', image], { stdio: 'ignore' });
    execFileSync('mount', ['-o', 'loop', image, folder], { stdio: 'ignore' });
  } catch {
    rmSync(image);
    console.log(`skipped: ${t.name}: XFS cannot be mounted here`);
    t.skip('XFS cannot be mounted here');
    return undefined;
  }
  const unmount = () => {
    execFileSync('umount', ['-l', folder]);
    rmSync(image);
  };
  watchOutput(t, unmount, []);
  return folder;
}

test('where the file system can share content, copies do: they take no space, and change independently', async (t) => {
  const disk = sharingDisk(t);
  if (disk === undefined) return;
  const server = await startServer(t, { account: { home_folder_path: disk } });
  mkdirSync(join(disk, 'tree'));
  mkdirSync(join(disk, 'to'));
  writeFileSync(join(disk, 'tree/large'), Buffer.alloc(100_000_000, 'x'), { mode: 0o600 });
  execFileSync('sync', ['-f', disk]);
  const free = () => statfsSync(disk).bfree * statfsSync(disk).bsize;
  const before = free();
  assert.equal(messageOf(await copy(server, 'tree', 'to')), null);
  assert.ok(before - free() < 20_000_000, `${before - free()} bytes`);
  assert.equal((await server.put('/home/tree/large', 'new')).status, 201);
  assert.ok(readFileSync(join(disk, 'to/tree/large')).equals(Buffer.alloc(100_000_000, 'x')));
});
