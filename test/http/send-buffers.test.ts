import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeSendBuffers } from '../../src/lib/send-buffers.ts';

test('a thousand clients that read slowly use at most 200 MiB of buffers, and later clients get large buffers again', () => {
  const held = Array.from({ length: 1000 }, () => takeSendBuffers(false));
  const sizes = held.map(({ pair }) => pair[0].length + pair[1].length);
  assert.ok((sizes[0] ?? 0) > 2 * 1024 * 1024, 'the first clients get large buffers');
  const sumMiB = sizes.reduce((sum, bytes) => sum + bytes, 0) / 2 ** 20;
  assert.ok(sumMiB <= 200, `${sumMiB} MiB`);
  for (const [index, buffers] of held.entries()) buffers.release(index % 2 === 0);
  const next = Array.from({ length: 10 }, () => takeSendBuffers(false));
  for (const { pair } of next) assert.ok(pair[0].length > 1024 * 1024);
  for (const buffers of next) buffers.release(true);
});

test('buffers are reused only if they were released as unused', () => {
  const first = takeSendBuffers(false);
  first.release(false);
  const second = takeSendBuffers(false);
  assert.notEqual(second.pair[0], first.pair[0]);
  second.release(true);
  const third = takeSendBuffers(false);
  assert.equal(third.pair[0], second.pair[0]);
  third.release(true);
});
