import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Places } from '../../src/lib/turns/places.ts';

test('places are taken under all names or under none, by whoever asks first', () => {
  const places = new Places<string>();
  const both = [
    ['all', 3],
    ['of one', 2],
  ] as const;
  assert.equal(places.take('a', both), undefined);
  assert.equal(places.take('b', both), undefined);
  assert.equal(places.take('a', both), 'of one');
  assert.equal(places.take('a', [['all', 3]]), undefined, 'what was refused took nothing');
  assert.equal(places.take('b', [['all', 3]]), 'all');
  assert.equal(places.take('b', [['all', 4]]), undefined, 'a limit may be raised');
});

test('places that are given back, or whose holder is gone, are free once', () => {
  const places = new Places<string>();
  const take = (holder: string) => places.take(holder, [['x', 2]]);
  assert.deepEqual([take('a'), take('a')], [undefined, undefined]);
  places.free('b', ['x']);
  assert.equal(take('b'), 'x', 'nobody gives back the places of others');
  places.free('a', ['x']);
  places.free('a', ['x', 'x']);
  assert.deepEqual([take('b'), take('b'), take('b')], [undefined, undefined, 'x']);
  places.lose('a');
  places.lose('b');
  assert.deepEqual([take('a'), take('a'), take('a')], [undefined, undefined, 'x']);
});
