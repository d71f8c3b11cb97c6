import assert from 'node:assert/strict';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inodeAt, keptName } from '../../src/files/disk/temporaries.ts';
import type { FilesEnvironment } from '../../src/files/files-environment.ts';
import { endsAtOnce, uploadEventUuid } from '../../src/files/uploads/end-upload.ts';
import { putAside } from '../../src/files/uploads/take-over.ts';
import type { UploadStore } from '../../src/files/uploads/upload-store.ts';
import { UploadUpkeep } from '../../src/files/uploads/upload-upkeep.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { changeUpload, orderOf } from '../contracts/upload-store.ts';
import { testFiles } from '../support/sftp-session.ts';

/** Upkeep whose clock is two minutes ahead, so that all uploads of a folder have expired. */
function laterUpkeep(files: FilesEnvironment, home: string, more: Partial<UploadStore> = {}, events = files.events): UploadUpkeep {
  const changed: Partial<UploadStore> = { expired: () => files.uploads.within(home), ...more };
  const uploads = new Proxy(files.uploads, {
    get: (store, name: keyof UploadStore) => changed[name] ?? (store[name] as () => unknown)?.bind(store),
  });
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 120_000 };
  return new UploadUpkeep({ files: { clock: systemClock, events, uploads }, isJournalled: async () => false, clock, log: silentLog });
}

/** An upload whose process was killed while it ended the upload. @param isJournalled whether the event is in the journal */
async function killedAtItsEnd(t: TestContext, isJournalled: boolean) {
  const { environment: files, events, home } = testFiles(t);
  const contentPath = join(home, keptName());
  const target = join(home, 'a.bin');
  writeFileSync(contentPath, 'content');
  const { id } = await files.uploads.add(orderOf(contentPath), 7);
  const asidePath = join(home, keptName());
  const ofEvent = { eventUuid: uploadEventUuid(id, 40017), atMs: 0, data: { total_write: 7 } };
  const completion = { inode: String(inodeAt(contentPath)), target, asidePath, ...ofEvent };
  await changeUpload(files.uploads, id, { offsetBytes: 3, completion });
  const asked: string[] = [];
  const upkeep = new UploadUpkeep({
    files,
    isJournalled: async (uuid) => asked.push(uuid) > 0 && isJournalled,
    clock: systemClock,
    log: silentLog,
  });
  const paths = { home, asidePath, contentPath, target };
  return { files, events, ...paths, id, asked, run: () => upkeep.run(), record: () => files.uploads.find(id) };
}

test('after a kill before the rename, the upload can be continued at its old offset', async (t) => {
  const { run, record, events } = await killedAtItsEnd(t, false);
  await run();
  const found = await record();
  assert.deepEqual([found?.offsetBytes, found?.completion, found?.outcome], [3, undefined, undefined]);
  assert.deepEqual(events, []);
});

test('after a kill between the rename and its event, the event is emitted once', async (t) => {
  const { contentPath, target, run, record, events } = await killedAtItsEnd(t, false);
  renameSync(contentPath, target);
  await run();
  await run();
  assert.deepEqual((await record())?.outcome, { kind: 'stored', headers: [] });
  assert.equal((await record())?.offsetBytes, 7);
  assert.deepEqual(
    events.map(({ id, data }) => [id, data.real_path, data.total_write]),
    [[40017, join(target, '..', 'ä b.bin'), 7]],
  );
});

test('after a kill between the rename to a numbered name and its event, the event contains the name of the file', async (t) => {
  const { files, id, contentPath, home, run, record, events } = await killedAtItsEnd(t, false);
  const target = join(home, 'ä b (2).bin');
  const { completion } = (await record()) ?? {};
  if (completion) await changeUpload(files.uploads, id, { completion: { ...completion, target, numberedName: basename(target) } });
  renameSync(contentPath, target);
  await run();
  assert.deepEqual(
    events.map(({ data }) => [data.path, data.requested_path, data.real_path]),
    [['/inbox/ä b (2).bin', '/inbox/ä b.bin', target]],
  );
});

test('after a kill while the file had two names, the event is emitted once, and one name is left', async (t) => {
  const { contentPath, target, home, run, record, events } = await killedAtItsEnd(t, false);
  linkSync(contentPath, target);
  await run();
  await run();
  assert.deepEqual((await record())?.outcome, { kind: 'stored', headers: [] });
  assert.deepEqual(readdirSync(home), [basename(target)]);
  assert.deepEqual(
    events.map(({ id }) => id),
    [40017],
  );
});

test('a process that slept before the rename finds nothing to rename after the upload was opened again', async (t) => {
  const { contentPath, target, run, record } = await killedAtItsEnd(t, false);
  await run();
  for (const name of [renameSync, linkSync]) assert.throws(() => name(contentPath, target), { code: 'ENOENT' });
  const after = String((await record())?.contentPath);
  assert.equal(readFileSync(after, 'utf8'), 'content');
  // An upkeep that began earlier and was suspended until now finds nothing to set aside, either.
  assert.equal(putAside(contentPath, join(dirname(target), keptName()), String(inodeAt(after))), false);
  assert.equal(readFileSync(after, 'utf8'), 'content');
});

test('after a kill before it was recorded that the content was set aside, the upload can be continued', async (t) => {
  const { asidePath, contentPath, run, record } = await killedAtItsEnd(t, false);
  renameSync(contentPath, asidePath);
  await run();
  const found = await record();
  assert.deepEqual([found?.contentPath, found?.completion, found?.outcome], [asidePath, undefined, undefined]);
});

for (const isJournalled of [false, true])
  test(`a failed upload is reported once, even after a kill ${isJournalled ? 'after' : 'before'} the event`, async (t) => {
    const { files, id, contentPath, run, record, events, asked } = await killedAtItsEnd(t, isJournalled);
    const ending = { code: 'forbidden', message: 'no', how: undefined, isTold: true, data: { total_write: 3 }, atMs: 0 };
    await changeUpload(files.uploads, id, { completion: undefined, ending });
    await run();
    await run();
    assert.deepEqual((await record())?.outcome, { kind: 'failed', code: 'forbidden', message: 'no' });
    assert.equal(existsSync(contentPath), false);
    assert.deepEqual(asked, [uploadEventUuid(id, 40022)]);
    assert.deepEqual(
      events.map(({ id: event, data }) => [event, data.details, data.total_write]),
      isJournalled ? [] : [[40022, 'no', 3]],
    );
  });

test('after a kill that follows the event, nothing is reported again, even if another file has the name by now', async (t) => {
  const { id, contentPath, target, run, record, events, asked } = await killedAtItsEnd(t, true);
  unlinkSync(contentPath);
  writeFileSync(target, 'somebody else');
  await run();
  assert.deepEqual((await record())?.outcome, { kind: 'stored', headers: [] });
  assert.deepEqual(events, []);
  assert.deepEqual(asked, [uploadEventUuid(id, 40017)]);
});

test('an upload whose content, file and event are missing is reported as failed', async (t) => {
  const { contentPath, run, record, events } = await killedAtItsEnd(t, false);
  unlinkSync(contentPath);
  await run();
  assert.equal((await record())?.outcome?.kind, 'failed');
  assert.deepEqual(
    events.map(({ id }) => id),
    [40022],
  );
});

test('only files with the name of kept content are ever removed', async (t) => {
  const { environment: files, home } = testFiles(t);
  const innocent = join(home, 'report.pdf');
  writeFileSync(innocent, 'x');
  const kept = join(home, keptName());
  linkSync(innocent, kept);
  for (const path of [innocent, kept]) await files.uploads.add(orderOf(path), 1);
  await laterUpkeep(files, home).run();
  assert.deepEqual([existsSync(innocent), existsSync(kept)], [true, false]);
});

test('an upload that cannot be ended does not prevent the end of others', async (t) => {
  const { environment: files, home, events } = testFiles(t);
  const broken = new Set<string>();
  for (let count = 0; count < 2 * endsAtOnce; count++) broken.add((await files.uploads.add(orderOf(join(home, keptName())), 1)).id);
  const { id } = await files.uploads.add(orderOf(join(home, keptName())), 1);
  const hold: UploadStore['hold'] = (wanted, onWanted) =>
    broken.has(wanted) ? Promise.reject(new Error('EIO')) : files.uploads.hold(wanted, onWanted);
  await laterUpkeep(files, home, { hold, completing: () => files.uploads.within(home) }).run();
  assert.equal((await files.uploads.find(id))?.outcome?.kind, 'failed');
  assert.deepEqual(
    events.map(({ id: event }) => event),
    [40069, 40022],
  );
});

test('no content is removed while the journal accepts no events', async (t) => {
  const { environment: files, home } = testFiles(t);
  const contents = Array.from({ length: 2 * endsAtOnce }, () => join(home, keptName()));
  for (const content of contents) {
    writeFileSync(content, 'x');
    await files.uploads.add(orderOf(content), 1);
  }
  const assertWritable = () => {
    throw new Error('The journal cannot be written.');
  };
  await laterUpkeep(files, home, {}, Object.assign(Object.create(files.events), { assertWritable })).run();
  assert.ok(contents.every((content) => existsSync(content)));
});

test('a folder in place of the content is left alone, and the upload ends', async (t) => {
  const { contentPath, run, record } = await killedAtItsEnd(t, false);
  // The folder is made while the content exists, so that it does not get the same inode.
  mkdirSync(`${contentPath}.d`);
  unlinkSync(contentPath);
  renameSync(`${contentPath}.d`, contentPath);
  await run();
  assert.equal((await record())?.outcome?.kind, 'failed');
  assert.ok(existsSync(contentPath));
});
