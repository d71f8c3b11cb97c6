import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killDuringUploads } from '../support/sftp-crash.ts';

const rounds = Number(process.env.SVC_CRASH_ROUNDS ?? 2);

test(`kill -9 during uploads over SFTP, ${rounds} times: old file or new, nothing left behind, no event lost`, async (t) => {
  assert.ok((await killDuringUploads(t, { rounds, clients: 3 })) > 0, 'no upload was confirmed');
});
