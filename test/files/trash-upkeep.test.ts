import assert from 'node:assert/strict';
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { TrashUpkeep } from '../../src/files/trash/trash-upkeep.ts';
import { type TestFiles, testFiles } from '../support/sftp-session.ts';
import { ShiftedClock } from '../support/shifted-clock.ts';

const dayMs = 86_400_000;

/** Returns the files of an account with a trash of 30 days that contains `names`. */
async function withTrash(t: TestContext, ...names: string[]): Promise<TestFiles & { folder: string }> {
  const made = testFiles(t, { trash: { days: 30 } });
  for (const name of names) {
    writeFileSync(join(made.home, name), name);
    await made.files.deleteFile(`/${name}` as never);
  }
  const top = join(made.home, '.svc-trash');
  return { ...made, folder: join(top, readdirSync(top)[0] ?? '') };
}

function later({ environment }: TestFiles, shiftMs: number, isJournalled = async () => false): TrashUpkeep {
  const clock = new ShiftedClock();
  clock.shift(shiftMs);
  return new TrashUpkeep({ ...environment, clock }, isJournalled);
}

const ended = ({ events }: TestFiles) => events.filter(({ id }) => id === 40102).map(({ data }) => [data.path, data.reason]);

test('items that are older than the days of the trash are removed, each with an event', async (t) => {
  const files = await withTrash(t, 'a', 'b');
  await later(files, 29 * dayMs).run();
  assert.deepEqual([ended(files), (await files.files.trash.list()).length], [[], 2]);
  await later(files, 30 * dayMs + 60_000).run();
  assert.deepEqual(ended(files), [
    ['/a', 'age'],
    ['/b', 'age'],
  ]);
  assert.deepEqual(readdirSync(files.folder), []);
});

test('concurrent upkeeps remove each item once', async (t) => {
  const files = await withTrash(t, ...Array.from({ length: 20 }, (_, index) => `f${index}`));
  await Promise.all(Array.from({ length: 4 }, () => later(files, 31 * dayMs).run()));
  assert.equal(ended(files).length, 20);
  assert.equal(new Set(ended(files).map(([path]) => path)).size, 20);
  assert.deepEqual(readdirSync(files.folder), []);
});

test('after a kill, a begun removal is finished with one event; unfinished deletions and replacements are not in the trash', async (t) => {
  const files = await withTrash(t, 'told', 'untold', 'moving', 'stays');
  const ids = Object.fromEntries((await files.files.trash.list()).map(({ path, id }) => [path, id]));
  const at = (path: string, end = '') => join(files.folder, `${ids[path]}${end}`);
  // A process was killed after it had claimed two removals. It had already reported the event of one of them.
  renameSync(at('/told'), at('/told', '.age'));
  renameSync(at('/untold'), at('/untold', '.quota'));
  // A process was killed during a deletion, between the record and the rename.
  renameSync(at('/moving'), join(files.home, 'moving'));
  // A process was killed during a replacement, between the second name and the rename.
  const record = JSON.parse(readFileSync(at('/stays', '.json'), 'utf8'));
  writeFileSync(at('/stays', '.json'), JSON.stringify({ ...record, isReplaced: true }));
  linkSync(at('/stays'), join(files.home, 'stays'));
  assert.deepEqual(await files.files.trash.list(), []);
  await assert.rejects(
    files.files.trash.restore(ids['/stays'] ?? '', () => {}),
    { code: 'not-found' },
  );

  const told = new Set<string>();
  const upkeep = later(
    files,
    120_000,
    async (...[uuid]: string[]) => told.has(uuid ?? '') || (told.size === 0 && Boolean(told.add(uuid ?? ''))),
  );
  await upkeep.run();
  assert.equal(ended(files).length, 1);
  assert.deepEqual(
    readdirSync(files.folder).filter((name) => /\.(age|quota|person)$/.test(name)),
    [],
  );
  await later(files, 8 * dayMs).run();
  assert.deepEqual(readdirSync(files.folder).sort(), [`${ids['/stays']}`, `${ids['/stays']}.json`].sort());
  rmSync(join(files.home, 'stays'));
  assert.equal((await files.files.trash.list()).length, 1, 'the last name of a content is not removed');
  assert.equal(readFileSync(join(files.home, 'moving'), 'utf8'), 'moving');
});

test('items with forged records are not listed, and nothing outside the trash is created', async (t) => {
  const files = await withTrash(t, 'a');
  const [item] = await files.files.trash.list();
  assert.ok(item);
  const record = JSON.parse(readFileSync(join(files.folder, `${item.id}.json`), 'utf8'));
  const changed: unknown[] = [{ path: '/../../outside' }, { path: 'relative' }, { path: 7 }, { sizeBytes: 'x' }, { origin: null }];
  for (const change of changed) {
    writeFileSync(join(files.folder, `${item.id}.json`), JSON.stringify({ ...record, ...(change as object) }));
    assert.deepEqual(await files.files.trash.list(), [], JSON.stringify(change));
  }
  for (const text of ['', '{', 'null', 'x'.repeat(70_000)]) {
    writeFileSync(join(files.folder, `${item.id}.json`), text);
    assert.deepEqual(await files.files.trash.list(), []);
  }
  mkdirSync(join(files.folder, 'f'.repeat(32)));
  writeFileSync(join(files.folder, 'other.json'), JSON.stringify(record));
  assert.deepEqual(await files.files.trash.list(), []);
  assert.deepEqual(readdirSync(files.home), ['.svc-trash']);
});

test('the retention of the current configuration applies; if it has none, the retention at the last use of the trash applies', async (t) => {
  const files = await withTrash(t, 'a');
  files.environment.trashes.configure(({ account, group }) => (account === 'alice' && group === 'DEFAULT_GROUP' ? 7 : 0));
  await later(files, 8 * dayMs).run();
  assert.deepEqual(ended(files), [['/a', 'age']]);
  const others = await withTrash(t, 'b');
  others.environment.trashes.configure(() => 0);
  await later(others, 8 * dayMs).run();
  assert.deepEqual(ended(others), []);
});
