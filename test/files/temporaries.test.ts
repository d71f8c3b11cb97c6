import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { asideName, inodeAt, Temporaries, temporaryName } from '../../src/files/disk/temporaries.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { temporaryFolder } from '../support/temp.ts';

const log = createLog({ level: 'error', format: 'json', clock: systemClock, write: (line) => assert.fail(line) });

/** Two runs of a service. The second cleans up at its start what the first one recorded. */
function afterCrash(t: TestContext, before: (temporaries: Temporaries, folder: string) => void): string {
  const data = temporaryFolder(t);
  const folder = temporaryFolder(t);
  before(new Temporaries(data, log), folder);
  new Temporaries(data, log).close();
  return folder;
}

test('an interrupted copy of a folder is removed with all its content', (t) => {
  const folder = afterCrash(t, (temporaries, at) => {
    const path = join(at, temporaryName());
    temporaries.add(path);
    mkdirSync(join(path, 'sub'), { recursive: true });
    writeFileSync(join(path, 'sub/f'), 'half');
  });
  assert.deepEqual(readdirSync(folder), []);
});

function withRecord(t: TestContext) {
  const data = temporaryFolder(t);
  const record = () => readFileSync(join(data, 'uploads-under-way'), 'utf8');
  return { data, folder: temporaryFolder(t), record, temporaries: new Temporaries(data, log) };
}

test('a temporary name that is free again is reused without another record, and its file is removed after a crash', (t) => {
  const { data, folder, record, temporaries } = withRecord(t);
  const name = temporaries.take(folder);
  const noted = record();
  const other = temporaries.take(folder);
  assert.notEqual(other, name, 'a name that is taken is not given again');
  temporaries.delete(join(folder, other));
  temporaries.giveBack(folder, name);
  assert.notEqual(temporaries.take(temporaryFolder(t)), name, 'a name is reused only in its own folder');
  const before = record();
  assert.equal(temporaries.take(folder), name);
  assert.equal(record(), before);
  assert.ok(record().startsWith(noted));
  writeFileSync(join(folder, name), 'half');
  new Temporaries(data, log).close();
  assert.deepEqual(readdirSync(folder), []);
});

test('every used name is in the record, also after the record was emptied', (t) => {
  const { folder, record, temporaries } = withRecord(t);
  const takeMany = (count: number) => Array.from({ length: count }, () => temporaries.take(folder));
  const names = takeMany(2000);
  for (const name of names) temporaries.giveBack(folder, name);
  const left = record();
  assert.ok(!names.every((name) => left.includes(name)));
  const again = takeMany(500);
  const noted = record();
  assert.ok(again.every((name) => noted.includes(name)));
});

test('an item that was only set aside is put back if its place is free', (t) => {
  const folder = afterCrash(t, (temporaries, at) => {
    mkdirSync(join(at, 'd'));
    writeFileSync(join(at, 'd/f'), 'F');
    const path = join(at, temporaryName());
    temporaries.add(path, join(at, 'd'));
    renameSync(join(at, 'd'), path);
  });
  assert.equal(readFileSync(join(folder, 'd/f'), 'utf8'), 'F');
  assert.deepEqual(readdirSync(folder), ['d']);
});

test('an item that was set aside is removed if its place is taken, or if it was going to be removed', (t) => {
  const folder = afterCrash(t, (temporaries, at) => {
    const replaced = join(at, temporaryName());
    temporaries.add(replaced, join(at, 'd'));
    mkdirSync(replaced);
    writeFileSync(join(at, 'd'), 'new');
    const moved = join(at, temporaryName());
    temporaries.add(moved, join(at, 'gone'));
    mkdirSync(moved);
    temporaries.add(moved);
  });
  assert.deepEqual(readdirSync(folder), ['d']);
  assert.equal(readFileSync(join(folder, 'd'), 'utf8'), 'new');
});

test('the original that a move set aside is removed if its copy is at the new place, and put back otherwise', (t) => {
  const folder = afterCrash(t, (temporaries, at) => {
    for (const [name, isInPlace] of [
      ['moved', true],
      ['unmoved', false],
    ] as const) {
      const copy = join(at, temporaryName());
      temporaries.add(copy);
      writeFileSync(copy, 'copy');
      const aside = join(at, temporaryName());
      temporaries.add(aside, join(at, name), { path: join(at, `new-${name}`), inode: inodeAt(copy) ?? '' });
      writeFileSync(aside, 'source');
      // An item with the new name, but with another inode, does not count as the copy.
      writeFileSync(join(at, `new-${name}`), 'older');
      if (isInPlace) renameSync(copy, join(at, `new-${name}`));
    }
  });
  assert.deepEqual(readdirSync(folder).sort(), ['new-moved', 'new-unmoved', 'unmoved']);
  assert.equal(readFileSync(join(folder, 'new-moved'), 'utf8'), 'copy');
});

test('an item in the middle of a move goes back to its old folder, with a number if its name is taken', (t) => {
  const folder = afterCrash(t, (temporaries, at) => {
    for (const name of ['old', 'new']) mkdirSync(join(at, name));
    for (const name of ['free', 'taken']) {
      const passing = join(at, 'new', asideName());
      writeFileSync(passing, name);
      temporaries.add(passing, join(at, 'old', name), { path: join(at, 'new', name), inode: inodeAt(passing) ?? '' });
    }
    writeFileSync(join(at, 'old/taken'), 'newer');
    writeFileSync(join(at, 'new/free'), 'something else of the new name');
  });
  const content = (name: string) => readFileSync(join(folder, name), 'utf8');
  assert.deepEqual(readdirSync(folder, { recursive: true }).sort(), ['new', 'new/free', 'old', 'old/free', 'old/taken', 'old/taken (2)']);
  assert.deepEqual([content('old/free'), content('old/taken'), content('old/taken (2)')], ['free', 'newer', 'taken']);
});

test('a forged record causes no removal or move of other items', (t) => {
  const data = temporaryFolder(t);
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'precious'), '');
  const hidden = join(folder, temporaryName());
  mkdirSync(hidden);
  const lines = [
    join(folder, 'precious'),
    { path: join(folder, 'precious'), original: join(folder, 'x') },
    { path: hidden, original: join(data, 'elsewhere') },
    7,
    null,
    {},
  ];
  writeFileSync(join(data, 'uploads-under-way'), `${lines.map((line) => JSON.stringify(line)).join('\n')}\nnot json\n`);
  new Temporaries(data, log).close();
  assert.deepEqual(readdirSync(folder), ['precious']);
  assert.equal(existsSync(join(data, 'elsewhere')), false);
});
