import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EarlySync } from '../../src/files/disk/early-sync.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

test('content that arrives in several requests counts after 4 MiB, or after a second', async (t) => {
  const path = join(temporaryFolder(t), 'content');
  const fd = openSync(path, 'w');
  t.after(() => closeSync(fd));
  const clock = new ManualClock();
  const counted: number[] = [];
  const early = new EarlySync(fd, clock, async (sizeBytes) => void counted.push(sizeBytes));
  const mebibyte = 1024 * 1024;
  const wrote = (bytes: number, sizeBytes: number) => {
    early.wrote(bytes, sizeBytes);
    return early.current !== undefined;
  };
  assert.equal(wrote(4 * mebibyte - 1, 4 * mebibyte - 1), false);
  assert.equal(wrote(1, 4 * mebibyte), true, 'the clock stands still');
  await until('the content counts', () => counted.length === 1 && early.current === undefined);
  assert.equal(wrote(100, 4 * mebibyte + 100), false);
  clock.advance(999);
  assert.equal(early.current, undefined);
  clock.advance(1);
  assert.notEqual(early.current, undefined);
  await until('the rest counts', () => counted.length === 2);
  assert.deepEqual(counted, [4 * mebibyte, 4 * mebibyte + 100]);
  await early.end();
});
