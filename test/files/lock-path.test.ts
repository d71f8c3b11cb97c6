import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RealRoots } from '../../src/files/disk/real-roots.ts';
import { lockPath } from '../../src/files/locks/lock-guard.ts';
import { temporaryFolder } from '../support/temp.ts';

test('a file has the same path for locks, even if it is reached through symlinks', (t) => {
  const folder = realpathSync(temporaryFolder(t));
  const home = join(folder, 'home');
  mkdirSync(join(home, 'sub'), { recursive: true });
  for (const path of ['home/sub/file', 'outside']) writeFileSync(join(folder, path), 'x');
  symlinkSync('sub', join(home, 'folder-link'));
  symlinkSync('sub/file', join(home, 'file-link'));
  symlinkSync('../outside', join(home, 'link-out'));
  symlinkSync('missing', join(home, 'dangling'));
  const roots = new RealRoots([home], []);
  const expected = {
    'sub/file': 'sub/file',
    'folder-link/file': 'sub/file',
    'file-link': 'sub/file',
    'folder-link': 'sub',
    'folder-link/new': 'sub/new',
    'link-out': 'link-out',
    dangling: 'dangling',
    'missing/new': 'missing/new',
  };
  const found = Object.keys(expected).map((path) => [path, lockPath(roots, join(home, path))]);
  assert.deepEqual(Object.fromEntries(found), Object.fromEntries(Object.entries(expected).map(([path, real]) => [path, join(home, real)])));
});

test('at the top of the file system, the path for locks is the path itself', () => {
  const roots = new RealRoots(['/'], []);
  assert.deepEqual(
    ['/', '/proc', '/no-such-name'].map((path) => lockPath(roots, path)),
    ['/', '/proc', '/no-such-name'],
  );
});
