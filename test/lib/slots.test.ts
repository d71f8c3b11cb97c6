import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Slots } from '../../src/lib/concurrency/slots.ts';

test('places are taken under all names or under none, and are free once they are given back', () => {
  const places = new Slots();
  const both = [
    ['all', 3],
    ['of one', 2],
  ] as const;
  assert.equal(places.take(both), undefined);
  assert.equal(places.take(both), undefined);
  assert.equal(places.take(both), 'of one');
  assert.equal(places.take([['all', 3]]), undefined, 'what was refused took nothing');
  assert.equal(places.take([['all', 3]]), 'all');
  assert.equal(places.take([['all', 4]]), undefined, 'a limit may be raised');
  places.free(['all', 'of one']);
  assert.equal(places.take(both), 'all');
  places.free(['all']);
  assert.equal(places.take(both), undefined);
  assert.equal(places.take(both), 'all');
});
