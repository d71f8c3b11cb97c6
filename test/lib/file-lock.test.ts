import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { Retention } from '../../src/files/disk/retention.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { withFileLock } from '../../src/lib/disk/file-lock.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { temporaryFolder } from '../support/temp.ts';

const fault = (code: string) => Object.assign(new Error(`${code}: a fault`), { code });

test('an action under a lock has succeeded even if the lock file cannot be removed', async (t) => {
  const { unlinkSync } = fs;
  t.mock.method(fs, 'unlinkSync', (path: string) => {
    if (path.endsWith('.lock')) throw fault('EIO');
    unlinkSync(path);
  });
  syncBuiltinESMExports();
  try {
    assert.equal(await withFileLock(join(temporaryFolder(t), 'a'), systemClock, async () => 7), 7);
  } finally {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  }
});

test('a full disk does not make the service forget that there are retained files', (t) => {
  const folder = temporaryFolder(t);
  const clock = new ManualClock();
  const retention = new Retention(folder, clock);
  retention.configure(1);
  clock.advance(250 * 86_400_000);
  const { writeFileSync } = fs;
  t.mock.method(fs, 'writeFileSync', (path: string) => {
    writeFileSync(path, '');
    throw fault('ENOSPC');
  });
  syncBuiltinESMExports();
  try {
    assert.throws(() => retention.configure(1), { code: 'ENOSPC' });
  } finally {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  }
  assert.equal(new Retention(folder, clock).isUsed, true);
});
