import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killDuringUploads } from '../support/sftp-crash.ts';

const rounds = Number(process.env.SVC_CRASH_ROUNDS ?? 10);

test(`kill -9 during uploads of 20 SFTP clients, ${rounds} times: old file or new, nothing left behind, no event lost`, {
  timeout: 60 * 60_000,
}, async (t) => {
  assert.ok((await killDuringUploads(t, { rounds, clients: 20 })) > 0, 'no upload was confirmed');
});
