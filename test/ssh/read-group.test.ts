import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadGroup } from '../../src/ssh/sftp/open-file.ts';

/** A file that records its reads; each returns at most `maxBytes`. */
function file(content: Buffer, maxBytes = Number.POSITIVE_INFINITY) {
  const calls: [position: number, targets: number][] = [];
  const group = new ReadGroup(async (targets, position) => {
    calls.push([position, targets.length]);
    const given = content.subarray(position, Math.min(position + maxBytes, content.length));
    let used = 0;
    for (const target of targets) used += given.copy(target, 0, Math.min(used, given.length));
    return used;
  });
  const read = async (offset: number, bytes: number) => {
    const target = Buffer.alloc(bytes);
    return target.subarray(0, await group.read(offset, target)).toString();
  };
  return { calls, read };
}

const content = Buffer.from('abcdefghij');

test('consecutive reads in one turn are one call', async () => {
  const { calls, read } = file(content);
  assert.deepEqual(await Promise.all([read(0, 3), read(3, 3), read(6, 3), read(9, 3), read(12, 3)]), ['abc', 'def', 'ghi', 'j', '']);
  assert.deepEqual(calls, [
    [0, 5],
    [12, 1],
  ]);
});

test('reads that are not consecutive, in a later turn, or large in sum are separate calls', async () => {
  const { calls, read } = file(content);
  assert.deepEqual(await Promise.all([read(0, 2), read(4, 2), read(6, 2), read(4, 2)]), ['ab', 'ef', 'gh', 'ef']);
  await read(6, 2);
  assert.deepEqual(calls, [
    [0, 1],
    [4, 2],
    [4, 1],
    [6, 1],
  ]);
  calls.length = 0;
  const large = 255 * 1024;
  await Promise.all([read(0, large), read(large, large)]);
  assert.deepEqual(calls, [
    [0, 1],
    [large, 1],
  ]);
});

test('a short read does not end the file early', async () => {
  const { read } = file(content, 4);
  assert.deepEqual(await Promise.all([read(0, 3), read(3, 3), read(6, 3), read(9, 3)]), ['abc', 'd', 'ghi', 'j']);
});

test('a failed read fails for its whole group', async () => {
  const group = new ReadGroup(() => Promise.reject(new Error('EIO')));
  const results = await Promise.allSettled([0, 1].map((offset) => group.read(offset, Buffer.alloc(1))));
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
});
