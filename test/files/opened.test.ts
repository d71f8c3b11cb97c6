import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect, openFolder } from '../../src/files/disk/opened.ts';
import { RealRoots } from '../../src/files/disk/real-roots.ts';
import { Mounts } from '../../src/files/mounts.ts';
import { isServiceError } from '../../src/lib/errors.ts';
import type { VirtualPath } from '../../src/lib/virtual-path.ts';
import { temporaryFolder } from '../support/temp.ts';

const onLinux = { skip: process.platform === 'linux' ? false : 'needs Linux' };

test('members of a folder are read one after the other, as far as there is room in the given buffer', onLinux, (t) => {
  const root = temporaryFolder(t);
  writeFileSync(join(root, 'one'), 'first');
  writeFileSync(join(root, 'two'), 'second');
  const folder = openFolder(new RealRoots([root], []), root);
  t.after(() => folder.close());
  const target = Buffer.alloc(6);
  folder.readMembers((readInto) => {
    assert.equal(readInto('one', target), 5);
    assert.equal(target.toString('utf8', 0, 5), 'first');
    assert.equal(readInto('two', target), 6);
    assert.equal(target.toString(), 'second');
    assert.equal(readInto('two', target.subarray(0, 3)), 3);
  });
});

test('symlinks and other items that are not files are not found, and nothing waits for them', onLinux, (t) => {
  const root = temporaryFolder(t);
  const outside = temporaryFolder(t);
  writeFileSync(join(outside, 'secret'), 'not for you');
  symlinkSync(join(outside, 'secret'), join(root, 'link'));
  symlinkSync('nowhere', join(root, 'dangling'));
  mkdirSync(join(root, 'folder'));
  execFileSync('mkfifo', [join(root, 'fifo')]);
  const folder = openFolder(new RealRoots([root], []), root);
  t.after(() => folder.close());
  for (const name of ['link', 'dangling', 'folder', 'fifo', 'absent']) {
    const target = Buffer.alloc(20, '.');
    assert.throws(
      () => folder.readMembers((readInto) => readInto(name, target)),
      (error) => isServiceError(error, 'not-found'),
      name,
    );
    assert.equal(target.toString(), '.'.repeat(20), name);
  }
});

test('if a folder was moved away and replaced by a symlink, the original folder is read', onLinux, (t) => {
  const root = temporaryFolder(t);
  const outside = temporaryFolder(t);
  mkdirSync(join(root, 'folder'));
  writeFileSync(join(root, 'folder', 'name'), 'inside');
  writeFileSync(join(outside, 'name'), 'not me');
  const folder = openFolder(new RealRoots([root], []), join(root, 'folder'));
  t.after(() => folder.close());
  renameSync(join(root, 'folder'), join(root, 'moved'));
  symlinkSync(outside, join(root, 'folder'));
  const target = Buffer.alloc(6);
  folder.readMembers((readInto) => readInto('name', target));
  assert.equal(target.toString(), 'inside');
});

test('a symlink cannot lead from a subset of the roots to the other roots, and a file can be a root', (t) => {
  const root = temporaryFolder(t);
  for (const folder of ['shared', 'private']) mkdirSync(join(root, folder));
  writeFileSync(join(root, 'private/key'), 'secret');
  writeFileSync(join(root, 'shared/own'), 'shown');
  symlinkSync('../private', join(root, 'shared/way'));
  symlinkSync('own', join(root, 'shared/alias'));
  const mounts = new Mounts({ homeFolderPath: root, virtualFolders: [] }, []);
  const whole = mounts.roots;
  const part = (path: string) => mounts.part([path as VirtualPath]);
  const reached = (roots: RealRoots) =>
    ['shared', 'shared/own', 'shared/alias', 'shared/way', 'shared/way/key', 'private/key', ''].map(
      (path) => inspect(roots, join(root, path)) !== undefined,
    );
  assert.deepEqual(reached(whole), Array(7).fill(true));
  assert.deepEqual(reached(part('/shared').roots), [true, true, true, false, false, false, false]);
  assert.deepEqual(part('/shared').accountRoots.paths, whole.paths, 'quotas also count files outside the part');
  assert.deepEqual(reached(part('/shared/own').roots), [false, true, true, false, false, false, false]);
});
