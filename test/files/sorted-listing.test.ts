import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Entry, ListedEntry } from '../../src/files/entry.ts';
import { byName, type Compare, SortedListing } from '../../src/files/operations/sorted-listing.ts';

const owner = { accessedMs: 0, createdMs: 0, inode: 1, mode: 0o644, uid: 0, gid: 0 };

/** Names in a jumbled order: long and short, with characters of one to four bytes in UTF-8, digits, and halves of surrogate pairs in common. */
function entryAt(index: number): Entry {
  const jumbled = (index * 7919) % 104_729;
  const name = `${['file ', 'ü', '\u{ffff}', '\u{1f600}', 'Z', ''][jumbled % 6]}${jumbled}${'-'.repeat(jumbled % 7)}`;
  return { ...owner, name, isFolder: jumbled % 5 === 0, isLink: jumbled % 3 === 0, sizeBytes: jumbled % 100, modifiedMs: jumbled / 1000 };
}

async function* batchesOf(count: number, onBatch: (begin: number) => void = () => {}): AsyncGenerator<Entry[]> {
  for (let begin = 0; begin < count; begin += 256) {
    onBatch(begin);
    yield Array.from({ length: Math.min(256, count - begin) }, (_, index) => entryAt(begin + index)).sort(byName);
  }
}

const listed = ({ name, isFolder, isLink, sizeBytes, modifiedMs }: ListedEntry) => [name, isFolder, isLink, sizeBytes, modifiedMs].join();

/** Orders names by code point as the language has it. */
const byCodePoints: Compare = (a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
const bySize: Compare = (a, b) => Number(b.isFolder) - Number(a.isFolder) || b.sizeBytes - a.sizeBytes || byName(a, b);

for (const [what, compare, expected] of [
  ['by name', byName, byCodePoints],
  ['folders first, the largest first', bySize, bySize],
] as const)
  test(`entries of few and of many runs come as if sorted at once: ${what}`, async () => {
    for (const count of [0, 1, 1025, 17_000]) {
      const listing = new SortedListing(batchesOf(count), compare);
      const given: ListedEntry[] = [];
      for await (const batch of listing) given.push(...batch);
      const all = Array.from({ length: count }, (_, index) => entryAt(index)).sort(expected);
      assert.equal(given.map(listed).join('\n'), all.map(listed).join('\n'), `${count} entries`);
      assert.equal(listing.count, count);
    }
  });

test('a reply may begin long before the last entry is read, and who stops stops the reading', async () => {
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

test('of a hundred thousand entries a few thousand are objects at a time', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const seen: WeakRef<Entry>[] = [];
  async function* remembered(): AsyncGenerator<Entry[]> {
    for await (const batch of batchesOf(100_000)) {
      for (const entry of batch) seen.push(new WeakRef(entry));
      yield batch;
    }
  }
  let most = 0;
  const look = async () => {
    // What a WeakRef gave or was made of stays until the end of its turn.
    await new Promise(setImmediate);
    collect();
    most = Math.max(most, seen.filter((reference) => reference.deref() !== undefined).length);
  };
  let batches = 0;
  for await (const batch of new SortedListing(remembered(), byName)) if (batch.length === 0 || batches++ % 100 === 0) await look();
  assert.equal(seen.length, 100_000);
  assert.ok(most < 40_000, `${most} entries were kept`);
});
