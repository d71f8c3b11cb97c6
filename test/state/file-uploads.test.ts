import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../src/lib/log.ts';
import { FileUploadStore } from '../../src/state/memory/uploads.ts';
import { orderOf, testLimits, uploadStoreContract } from '../contracts/upload-store.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { temporaryFolder } from '../support/temp.ts';

function open(t: TestContext) {
  const clock = new ManualClock();
  const options = { dataFolderPath: temporaryFolder(t), limits: () => testLimits, clock, log: silentLog };
  return { options, clock, store: new FileUploadStore(options), reopen: async () => new FileUploadStore(options) };
}

uploadStoreContract('uploads in files', async (t) => {
  const { store, clock, reopen } = open(t);
  return { store, reopen, advance: (ms) => clock.advance(ms) };
});

test('an upload whose record is torn or damaged cannot be continued; the others can', async (t) => {
  const { options, store, reopen } = open(t);
  const [torn, whole] = [await store.add(orderOf('/srv/1'), 1), await store.add(orderOf('/srv/2'), 1)];
  const path = join(options.dataFolderPath, 'uploads', torn.id);
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, 200));
  writeFileSync(join(options.dataFolderPath, 'uploads', 'stray.txt'), 'nothing of ours');
  const later = await reopen();
  assert.equal(await later.find(torn.id), undefined);
  assert.deepEqual(await later.find(whole.id), whole);
});

test('a thousand changes of the offset of an upload leave one file of the same size', async (t) => {
  const { options, store } = open(t);
  const { id } = await store.add(orderOf('/srv/1'), 2 ** 40);
  const folder = join(options.dataFolderPath, 'uploads');
  const sizeBytes = readFileSync(join(folder, id)).length;
  const hold = await store.hold(id, () => {});
  for (let index = 1; index <= 1000; index++) await hold.change({ offsetBytes: index * 2 ** 30, requests: index });
  assert.deepEqual(readdirSync(folder), [id]);
  assert.equal(readFileSync(join(folder, id)).length, sizeBytes);
});
