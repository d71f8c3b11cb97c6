import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { eventIds } from '../../src/events/event-ids.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import type { VirtualPath } from '../../src/lib/virtual-path.ts';
import { testFiles } from '../support/sftp-session.ts';

const path = '/a' as VirtualPath;

/** Uploads a file that is held, because its inspection does not exist. @returns the error of the upload */
async function upload(t: TestContext, prepare: (files: ReturnType<typeof testFiles>) => void) {
  const tested = testFiles(t, { inspections: { general: ['missing'], rules: [] } });
  prepare(tested);
  const upload = await tested.files.openUpload(path);
  await upload.write([Buffer.from('content')]);
  const error: unknown = await upload.commit().catch((reason) => reason);
  await upload.abort(error);
  assert.ok(error instanceof ServiceError);
  return { ...tested, error, held: await tested.environment.held.list(), ids: tested.events.map(({ id }) => id) };
}

test('content that was held stays held if the store cannot be asked about it after that', async (t) => {
  const { error, held, ids, home } = await upload(t, ({ environment }) => {
    const { store } = environment.held;
    const find = store.find.bind(store);
    let asked = 0;
    store.find = async (id) => {
      if (asked++ === 0) throw new ServiceError('unavailable', 'Redis is unreachable.');
      return find(id);
    };
  });
  assert.deepEqual([error.code, held.length, readdirSync(home).length], ['held', 1, 1]);
  assert.equal(ids.includes(eventIds.sftpUploadFailed), false);
});

test('a held upload whose event is not safe on disk is not reported as failed', async (t) => {
  const { error, held, ids } = await upload(t, ({ environment }) => {
    const { emitDurable } = environment.events;
    environment.events.emitDurable = async (draft) => {
      if (draft.id === eventIds.uploadHeld) throw new ServiceError('internal', 'The event journal could not be written.');
      return emitDurable(draft);
    };
  });
  assert.deepEqual([error.code, held.length], ['not-durable', 1]);
  assert.equal(ids.includes(eventIds.sftpUploadFailed), false);
});
