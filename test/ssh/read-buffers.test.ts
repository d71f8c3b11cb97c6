import assert from 'node:assert/strict';
import { test } from 'node:test';
import { giveBuffer, takeBuffer } from '../../src/ssh/sftp/packets/replies.ts';

test('buffers of READs are reused if their size fits, and only a few are kept', () => {
  const first = takeBuffer(200 * 1024);
  assert.ok(first.length >= 200 * 1024);
  giveBuffer(first);
  assert.notEqual(takeBuffer(32 * 1024), first, 'a large buffer is not reused for a small READ');
  assert.equal(takeBuffer(255 * 1024), first);
  assert.notEqual(takeBuffer(255 * 1024), first, 'a buffer in use is not given out again');
  const many = Array.from({ length: 100 }, () => takeBuffer(255 * 1024));
  for (const buffer of many) giveBuffer(buffer);
  const again = new Set(Array.from({ length: 100 }, () => takeBuffer(255 * 1024)));
  assert.equal(again.size, 100, 'no buffer is given out twice');
  assert.ok(many.filter((buffer) => again.has(buffer)).length <= 32);
});
