import type { Entry } from '../../src/files/entry.ts';
import { byName } from '../../src/files/operations/sorted-listing.ts';

const owner = { accessedMs: 0, createdMs: 0, inode: 1, mode: 0o644, uid: 0, gid: 0 };

/**
 * Returns an entry whose name is hard to sort correctly. The names begin with characters of one to four bytes in UTF-8, or with digits, and
 * have different lengths. Successive entries are not in order.
 */
export function entryAt(index: number): Entry {
  const jumbled = (index * 7919) % 104_729;
  const name = `${['file ', 'ü', '\u{ffff}', '\u{1f600}', 'Z', ''][jumbled % 6]}${jumbled}${'-'.repeat(jumbled % 7)}`;
  return { ...owner, name, isFolder: jumbled % 5 === 0, isLink: jumbled % 3 === 0, sizeBytes: jumbled % 100, modifiedMs: jumbled / 1000 };
}

/** Yields entries in batches, each sorted by name. */
export async function* batchesOf(count: number, onBatch: (begin: number) => void = () => {}): AsyncGenerator<Entry[]> {
  for (let begin = 0; begin < count; begin += 256) {
    onBatch(begin);
    yield Array.from({ length: Math.min(256, count - begin) }, (_, index) => entryAt(begin + index)).sort(byName);
  }
}
