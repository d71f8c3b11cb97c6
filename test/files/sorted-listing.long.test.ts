import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Entry } from '../../src/files/entry.ts';
import { byName, SortedListing } from '../../src/files/operations/sorted-listing.ts';
import { batchesOf } from '../support/jumbled-entries.ts';

test('of the 100,000 entries of a sorted listing, fewer than 40,000 are objects at any time', async () => {
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
    // An object stays alive until the end of the turn in which a WeakRef to it is created or dereferenced.
    await new Promise(setImmediate);
    collect();
    most = Math.max(most, seen.filter((reference) => reference.deref() !== undefined).length);
  };
  let batches = 0;
  for await (const batch of new SortedListing(remembered(), byName)) if (batch.length === 0 || batches++ % 100 === 0) await look();
  assert.equal(seen.length, 100_000);
  assert.ok(most < 40_000, `${most} entries were kept`);
});
