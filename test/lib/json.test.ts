import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonLimitError, parseJson } from '../../src/lib/json.ts';
import { damaged, fuzz } from '../support/fuzz.ts';

function depthOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
}

function countOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.values(value).reduce((sum: number, one) => sum + countOf(one), 1) : 1;
}

const seeds = ['{"a":[{"b":"]}\\"[{"},[[]]],"\\\\":"[[[["}', '[1,"\\u005b[",{"":[]}]', '"\\\\\\""', '[[[[[[', ']]]]'];
const limits = fc.record({ deepest: fc.integer({ min: 0, max: 4 }), maxValues: fc.integer({ min: 1, max: 8 }) });

test('JSON is parsed like JSON.parse, or refused for its depth or its number of values', (t) =>
  fuzz(
    t,
    fc.tuple(fc.oneof(damaged(seeds), fc.json({ maxDepth: 6 })), limits),
    ([text, { deepest, maxValues }]) => {
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        assert.throws(() => parseJson(text, { deepest, maxValues }), /./);
        return;
      }
      if (depthOf(value) > deepest) assert.throws(() => parseJson(text, { deepest }), JsonLimitError);
      else assert.deepEqual(parseJson(text, { deepest }), value);
      // `parseJson` also counts brackets, and each value of a repeated key.
      if (countOf(value) > 2 * maxValues) assert.throws(() => parseJson(text, { maxValues }), JsonLimitError);
      if (2 * text.length < maxValues) assert.deepEqual(parseJson(text, { maxValues }), value);
    },
    { share: 3 },
  ));

test('64 levels are accepted, 65 are not, and a million do no harm', () => {
  const lists = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  assert.equal(depthOf(parseJson(lists(64))), 64);
  for (const text of [lists(65), lists(1_000_000), '[{"a":'.repeat(33), '['.repeat(65)])
    assert.throws(() => parseJson(text), { name: 'Error', message: 'it is nested deeper than 64 levels' });
  assert.deepEqual(parseJson(JSON.stringify('['.repeat(100))), '['.repeat(100));
  assert.deepEqual(parseJson('[1,[2,3]]', { maxValues: 6 }), [1, [2, 3]]);
  assert.throws(() => parseJson('[1,[2,3]]', { maxValues: 4 }), { message: 'it has more than 4 values' });
});
