import assert from 'node:assert/strict';
import { closeSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileCache } from '../../src/files/disk/file-cache.ts';
import { RealRoots } from '../../src/files/disk/real-roots.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { isServiceError } from '../../src/lib/errors.ts';
import { clockAhead, clockGrainMs, whereFilesAreKept } from '../support/kept-files.ts';
import { temporaryFolder } from '../support/temp.ts';

function cacheOf(t: TestContext, { limitBytes = 1_000_000, clock = clockAhead }: { limitBytes?: number; clock?: Clock } = {}) {
  const root = temporaryFolder(t);
  const roots = new RealRoots([root], []);
  const cache = new FileCache(clock, limitBytes);
  const look = (name: string, within = roots): string | undefined => {
    const file = cache.open(within, join(root, name));
    if ('content' in file) return file.content.toString();
    closeSync(file.fd);
    return undefined;
  };
  const write = (name: string, content: string) => writeFileSync(join(root, name), content);
  return { root, roots, cache, look, write };
}

const isNotFound = (error: unknown) => isServiceError(error, 'not-found');

/** Waits for the next turn of the event loop, in which the next request arrives. */
const nextTurn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test('a small file is read once, and then served from memory', whereFilesAreKept, (t) => {
  const { root, roots, cache, write } = cacheOf(t);
  write('a', 'content');
  const first = cache.open(roots, join(root, 'a'));
  assert.ok('content' in first);
  assert.equal(cache.open(roots, join(root, 'a')), first, 'the file is not read again');
  assert.equal(first.entry.name, 'a');
  assert.equal(first.entry.sizeBytes, 7);
});

test('a change by another program is visible immediately', whereFilesAreKept, async (t) => {
  const { root, look, write } = cacheOf(t);
  const path = join(root, 'a');
  const times = (action: () => void) => {
    const { atime, mtime } = statSync(path);
    action();
    utimesSync(path, atime, mtime);
  };
  const changes: [what: string, change: () => void, content: string][] = [
    ['written to in place, size and modification time as before', () => times(() => write('a', 'second ')), 'second '],
    [
      'replaced by a file of the same size and modification time',
      () => {
        write('b', 'third  ');
        utimesSync(join(root, 'b'), statSync(path).atime, statSync(path).mtime);
        renameSync(join(root, 'b'), path);
      },
      'third  ',
    ],
    ['longer', () => write('a', 'longer than before'), 'longer than before'],
    ['empty', () => write('a', ''), ''],
  ];
  write('a', 'content');
  assert.equal(look('a'), 'content');
  for (const [what, change, content] of changes) {
    await sleep(clockGrainMs);
    change();
    assert.equal(look('a'), content, what);
  }
  rmSync(path);
  assert.throws(() => look('a'), isNotFound);
});

test('a file that was changed a moment ago is not cached: a second change may have the same timestamp', whereFilesAreKept, (t) => {
  let aheadMs = 1000;
  const clock = { ...systemClock, nowMs: () => Date.now() + aheadMs };
  const { look, write } = cacheOf(t, { clock });
  write('a', 'content');
  assert.equal(look('a'), undefined);
  aheadMs = 3000;
  assert.equal(look('a'), 'content');
  aheadMs = -60_000;
  write('b', 'of the future');
  assert.equal(look('b'), undefined);
});

test('if a folder in the path was replaced by a symlink, the symlink is not followed', whereFilesAreKept, async (t) => {
  const { root, look, write } = cacheOf(t);
  const outside = temporaryFolder(t);
  for (const [swapped, aside] of [
    ['d/e', 'the folder itself'],
    ['d', 'a folder above it'],
  ] as const) {
    mkdirSync(join(root, 'd', 'e'), { recursive: true });
    write('d/e/f', 'inside');
    assert.equal(look('d/e/f'), 'inside');
    await nextTurn();
    // It is the same unchanged file at the same path, but its folder has left the account.
    renameSync(join(root, swapped), join(outside, aside));
    symlinkSync(join(outside, aside), join(root, swapped));
    assert.throws(() => look('d/e/f'), isNotFound, aside);
    rmSync(join(root, 'd'), { recursive: true });
    await nextTurn();
  }
  mkdirSync(join(root, 'd'));
  write('d/f', 'inside');
  assert.equal(look('d/f'), 'inside');
  renameSync(join(root, 'd'), join(root, 'aside'));
  writeFileSync(join(outside, 'f'), 'OUTSIDE');
  symlinkSync(outside, join(root, 'd'));
  assert.throws(() => look('d/f'), isNotFound, 'even in the turn of the event loop in which the file was read');
});

test(
  'files with a symlink in their path, large ones, and those outside the given roots are not served from memory',
  whereFilesAreKept,
  (t) => {
    const { root, look, write, cache } = cacheOf(t);
    mkdirSync(join(root, 'own'));
    write('own/a', 'content');
    write('large', 'x'.repeat(128 * 1024 + 1));
    symlinkSync('own', join(root, 'linked'));
    symlinkSync('own/a', join(root, 'link'));
    assert.deepEqual([look('linked/a'), look('link'), look('large')], [undefined, undefined, undefined]);
    assert.equal(cache.figures.files, 0);
    assert.equal(look('own/a'), 'content');
    mkdirSync(join(root, 'other'));
    assert.throws(() => look('own/a', new RealRoots([join(root, 'other')], [])), isNotFound);
    assert.throws(() => look('own/a', new RealRoots([root], [join(root, 'own')])), isNotFound, 'files in excluded folders are not found');
    assert.equal(look('own/a'), 'content');
  },
);

test('the cache stays below its limit, and recently used content stays longest', whereFilesAreKept, (t) => {
  const { root, roots, look, write, cache } = cacheOf(t, { limitBytes: 60_000 });
  write('used', 'x'.repeat(1000));
  const used = cache.open(roots, join(root, 'used'));
  for (let index = 0; index < 100; index++) {
    write(`file-${index}`, 'x'.repeat(1000));
    look(`file-${index}`);
    assert.ok(cache.figures.bytes <= 60_000);
    assert.equal(cache.open(roots, join(root, 'used')), used, 'the file that is used stays in the cache');
  }
  const { files } = cache.figures;
  assert.ok(files > 5 && files < 60, `${files} are kept`);
  cache.resize(20_000);
  assert.ok(cache.figures.bytes <= 20_000 && cache.figures.files > 0);
  cache.resize(0);
  assert.deepEqual(cache.figures, { files: 0, bytes: 0 });
  assert.equal(look('used'), undefined);
});
