import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeBuffers } from '../../src/lib/gathered-bytes.ts';

test('the memory of a buffer is freed immediately, unless other buffers share it', () => {
  const own = Buffer.alloc(100_000, 'x');
  const other = Buffer.from(new Uint8Array(10).buffer);
  const shared = Buffer.alloc(100_000, 'y');
  const part = shared.subarray(10);
  const pooled = Buffer.from('from a pool');
  freeBuffers([own, part, pooled, other]);
  assert.deepEqual([own.length, own.buffer.byteLength, other.length], [0, 0, 0]);
  assert.deepEqual([part.length, shared.length, String(pooled)], [99_990, 100_000, 'from a pool']);
  freeBuffers([]);
  freeBuffers([Buffer.alloc(50_000)]);
});
