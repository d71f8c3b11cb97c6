import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sortInTurns } from '../../src/lib/turns/sort-in-turns.ts';

const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key;

test('sorts like the language does, equal items in their order, whatever the length', async () => {
  for (const length of [0, 1, 1999, 2000, 2001, 4000, 9001]) {
    const items = Array.from({ length }, (_, index) => ({ key: (index * 7919) % 101, index }));
    assert.deepEqual(await sortInTurns(items, byKey), items.toSorted(byKey), `${length}`);
  }
});

test('others get their turns meanwhile; what is in order already takes one look', async () => {
  const items = Array.from({ length: 20_000 }, (_, index) => ({ key: (index * 7919) % 20_011 }));
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const sorted = await sortInTurns(items, byKey);
  isOver = true;
  assert.ok(turns > 20, `${turns} turns of others`);
  let compared = 0;
  await sortInTurns(sorted, (a, b) => {
    compared++;
    return byKey(a, b);
  });
  assert.ok(compared < 1.1 * sorted.length, `${compared} comparisons`);
});
