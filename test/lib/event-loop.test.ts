import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoizeForTick } from '../../src/lib/concurrency/event-loop.ts';

test('what a function made is remembered for the turn, and no longer', async () => {
  const asked: string[] = [];
  const lengthOf = memoizeForTick((text) => {
    asked.push(text);
    return text.length;
  });
  assert.deepEqual([lengthOf(''), lengthOf(''), lengthOf('two'), lengthOf('two')], [0, 0, 3, 3]);
  assert.deepEqual(asked, ['', 'two']);
  await Promise.resolve();
  lengthOf('two');
  assert.deepEqual(asked, ['', 'two'], 'promises belong to the turn');
  await new Promise((resolve) => setImmediate(resolve));
  lengthOf('two');
  assert.deepEqual(asked, ['', 'two', 'two']);
});
