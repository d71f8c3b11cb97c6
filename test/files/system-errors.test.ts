import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asServiceError } from '../../src/files/disk/system-errors.ts';

/** Returns an error as Node.js throws it for a number without a name. */
const unnamed = (errno: number) => Object.assign(new Error('Unknown system error'), { errno, code: `Unknown system error ${errno}` });

test('errors of Linux are translated, including those for which Node.js has no name', () => {
  assert.equal(asServiceError(unnamed(-122)).code, 'storage-full', 'EDQUOT');
  assert.equal(asServiceError(unnamed(-116)).code, 'not-found', 'ESTALE');
  assert.equal(asServiceError(unnamed(-117)).code, 'internal');
  assert.equal(asServiceError(Object.assign(new Error('gone'), { errno: -2, code: 'ENOENT' })).code, 'not-found');
});
