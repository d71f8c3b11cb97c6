import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeFileAtomically, writeFileNow } from '../../src/lib/disk/durable-files.ts';
import { smallDisk } from '../support/small-disk.ts';
import { temporaryFolder } from '../support/temp.ts';

test('a file is created with its mode, or replaced as a whole, and nothing else is left', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'a');
  await writeFileAtomically(path, 'first', { mode: 0o600 });
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const before = statSync(path).ino;
  await writeFileAtomically(path, Buffer.from('second'), { mode: 0o640 });
  assert.deepEqual([readFileSync(path, 'utf8'), statSync(path).mode & 0o777], ['second', 0o640]);
  assert.notEqual(statSync(path).ino, before, 'a new file took the name');
  assert.deepEqual(readdirSync(folder), ['a']);
});

test('a concurrent reader always sees one complete content, never a mixture', async (t) => {
  const path = join(temporaryFolder(t), 'a');
  const contents = ['a', 'b', 'c'].map((letter) => letter.repeat(300_000));
  await writeFileAtomically(path, contents[0] ?? '', { mode: 0o600 });
  let isDone = false;
  const writing = Promise.all(contents.map((content) => writeFileAtomically(path, content, { mode: 0o600 }))).then(() => {
    isDone = true;
  });
  while (!isDone) {
    assert.ok(contents.includes(readFileSync(path, 'utf8')));
    await new Promise(setImmediate);
  }
  await writing;
});

test('a failure leaves the old content and no debris', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'taken'));
  await assert.rejects(writeFileAtomically(join(folder, 'taken'), 'x', { mode: 0o600 }), { code: 'EISDIR' });
  await assert.rejects(writeFileAtomically(join(folder, 'missing/a'), 'x', { mode: 0o600 }), { code: 'ENOENT' });
  assert.throws(() => writeFileNow(join(folder, 'taken'), 'x', { mode: 0o600 }), { code: 'EISDIR' });
  assert.deepEqual(readdirSync(folder), ['taken']);
});

test('a full disk leaves the old content and no debris', async (t) => {
  const disk = smallDisk(t, 200);
  if (!disk) return;
  const path = join(disk, 'a');
  writeFileSync(path, 'old');
  await assert.rejects(writeFileAtomically(path, Buffer.alloc(400_000, 1), { mode: 0o600 }), { code: 'ENOSPC' });
  assert.deepEqual([readdirSync(disk), readFileSync(path, 'utf8')], [['a'], 'old']);
});
