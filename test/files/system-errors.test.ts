import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asServiceError } from '../../src/files/disk/system-errors.ts';

/** An error as Node.js throws it for a number that it has no name for. */
const unnamed = (errno: number) => Object.assign(new Error('Unknown system error'), { errno, code: `Unknown system error ${errno}` });

test('errors of Linux have their meaning, those that Node.js has no name for, too', () => {
  assert.equal(asServiceError(unnamed(-122)).code, 'storage-full', 'EDQUOT');
  assert.equal(asServiceError(unnamed(-116)).code, 'not-found', 'ESTALE');
  assert.equal(asServiceError(unnamed(-117)).code, 'internal');
  assert.equal(asServiceError(Object.assign(new Error('gone'), { errno: -2, code: 'ENOENT' })).code, 'not-found');
});
