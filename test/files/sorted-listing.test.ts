import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry, ListedEntry } from '../../src/files/entry.ts';
import { byName, type Compare, SortedListing } from '../../src/files/operations/sorted-listing.ts';
import { batchesOf, entryAt } from '../support/jumbled-entries.ts';

const listed = ({ name, isFolder, isLink, sizeBytes, modifiedMs }: ListedEntry) => [name, isFolder, isLink, sizeBytes, modifiedMs].join();

/** Orders names by code point with the built-in comparison of bytes. */
const byCodePoints: Compare = (a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
const bySize: Compare = (a, b) => Number(b.isFolder) - Number(a.isFolder) || b.sizeBytes - a.sizeBytes || byName(a, b);

for (const [what, compare, expected] of [
  ['by name', byName, byCodePoints],
  ['folders first, the largest first', bySize, bySize],
] as const)
  test(`entries of few and of many runs have the same order as if all were sorted together: ${what}`, async () => {
    for (const count of [0, 1, 1025, 17_000]) {
      const listing = new SortedListing(batchesOf(count), compare);
      const given: ListedEntry[] = [];
      for await (const batch of listing) given.push(...batch);
      const all = Array.from({ length: count }, (_, index) => entryAt(index)).sort(expected);
      assert.equal(given.map(listed).join('\n'), all.map(listed).join('\n'), `${count} entries`);
      assert.equal(listing.count, count);
    }
  });

test('a reply can begin long before the last entry is read; if the listing is abandoned, no more entries are read', async () => {
  let begun = 0;
  let isClosed = false;
  async function* watched(): AsyncGenerator<Entry[]> {
    try {
      yield* batchesOf(100_000, (begin) => {
        begun = begin;
      });
    } finally {
      isClosed = true;
    }
  }
  for await (const batch of new SortedListing(watched(), byName)) {
    assert.deepEqual(batch, []);
    break;
  }
  assert.ok(begun < 9000, `${begun} entries were read`);
  assert.ok(isClosed);
});
