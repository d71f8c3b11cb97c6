import assert from 'node:assert/strict';
import { existsSync, lstatSync, openSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { closeFile, freeInBackground } from '../../src/files/disk/freeing.ts';
import { openBelow } from '../support/open-files.ts';
import { until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

const onLinux = { skip: process.platform === 'linux' ? false : 'needs Linux' };
const large = Buffer.alloc(5 * 1024 * 1024, 'x');

test('a large file that is removed stays open until another thread closes it, which frees its space', onLinux, async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'a');
  for (const action of [() => unlinkSync(path), () => renameSync(join(folder, 'b'), path)]) {
    writeFileSync(path, large);
    writeFileSync(join(folder, 'b'), 'new');
    const { result, freed } = freeInBackground(path, undefined, () => {
      action();
      return openBelow(folder);
    });
    assert.deepEqual(result, ['a (deleted)'], 'the action frees no space, because the file is still open');
    assert.ok(freed);
    await freed;
    assert.deepEqual(openBelow(folder), []);
  }
  assert.equal(lstatSync(path).size, 3);
});

test('small files and symlinks to large ones are not opened; failures leave nothing open', onLinux, (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'small'), 'x');
  writeFileSync(join(folder, 'large'), large);
  symlinkSync('large', join(folder, 'link'));
  for (const name of ['small', 'link']) {
    const held: string[][] = [];
    const { result, freed } = freeInBackground(join(folder, name), undefined, () => {
      held.push(openBelow(folder));
      unlinkSync(join(folder, name));
      return name;
    });
    assert.deepEqual([result, freed, held, existsSync(join(folder, name))], [name, undefined, [[]], false]);
  }
  assert.ok(existsSync(join(folder, 'large')));
  assert.throws(
    () =>
      freeInBackground(join(folder, 'large'), lstatSync(join(folder, 'large')), () => {
        assert.deepEqual(openBelow(folder), ['large']);
        throw new Error('not removed');
      }),
    /not removed/,
  );
  assert.deepEqual(openBelow(folder), []);
  assert.throws(() => freeInBackground(join(folder, 'absent'), undefined, () => unlinkSync(join(folder, 'absent'))), /ENOENT/);
});

test('a small file is closed immediately, a large one by another thread', onLinux, async (t) => {
  const folder = temporaryFolder(t);
  for (const [name, content] of [
    ['small', Buffer.from('x')],
    ['large', large],
  ] as const) {
    writeFileSync(join(folder, name), content);
    const fd = openSync(join(folder, name), 'r');
    unlinkSync(join(folder, name));
    assert.deepEqual(openBelow(folder), [`${name} (deleted)`]);
    void closeFile(fd, content.length);
    if (name === 'large') await until('the large file is closed', () => openBelow(folder).length === 0);
    assert.deepEqual(openBelow(folder), []);
  }
});
