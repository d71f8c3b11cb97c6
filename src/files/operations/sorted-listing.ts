import { compareNames, type Entry, type ListedEntry } from '../entry.ts';
import type { EntryBatches } from './account-listing.ts';

/** Maximum number of entries that are kept as objects. In larger folders, entries are packed into bytes. */
const blockEntries = 16_384;

/** A folder with at least this number of entries is large: a reply may begin before all entries are read. */
const largeEntries = 4096;

/** Number of entries in a run (a sorted list) if the order is not by name. Sorting a run takes a few milliseconds. */
const runEntries = 1024;

/** Number of entries in a batch. Other requests run between two batches. */
const batchEntries = 256;

/** Bytes of a packed entry before its name: flags, length of the name in bytes, size, modification time. */
const headBytes = 19;

const folderFlag = 1;
const linkFlag = 2;

export type Compare = (a: ListedEntry, b: ListedEntry) => number;

/** Orders entries by the code points of their names. */
export function byName(a: ListedEntry, b: ListedEntry): number {
  return compareNames(a.name, b.name);
}

export const sortColumns = ['name', 'size', 'modified'] as const;

export interface ListingOrder {
  column: (typeof sortColumns)[number];
  direction: 'asc' | 'desc';
  folders: 'first' | 'mixed';
}

/**
 * Creates the comparison for an order. Names sort as people expect: `file2` before `file10`, and `Ä` next to `A`.
 *
 * @param language language whose rules apply to names
 */
export function comparison({ column, direction, folders }: ListingOrder, language: string): Compare {
  const { compare } = new Intl.Collator(language, { numeric: true });
  const byCollation: Compare = (a, b) => compare(a.name, b.name) || (a.name < b.name ? -1 : 1);
  const byColumn: Compare = {
    name: byCollation,
    size: (a: ListedEntry, b: ListedEntry) => a.sizeBytes - b.sizeBytes || byCollation(a, b),
    modified: (a: ListedEntry, b: ListedEntry) => a.modifiedMs - b.modifiedMs || byCollation(a, b),
  }[column];
  const inDirection: Compare = direction === 'asc' ? byColumn : (a, b) => byColumn(b, a);
  return folders === 'first' ? (a, b) => Number(b.isFolder) - Number(a.isFolder) || inDirection(a, b) : inDirection;
}

/** The members of a folder, sorted by name, in batches like those of `SortedListing`. */
export function sortedByName(batches: EntryBatches): AsyncIterable<ListedEntry[]> {
  return batches.isByName ? withMembers(batches) : new SortedListing(batches, byName);
}

async function* withMembers(batches: EntryBatches): AsyncGenerator<ListedEntry[]> {
  for await (const batch of batches) if (batch.length > 0) yield batch;
}

/**
 * The members of a folder in a given order, in batches. Members are sorted in runs while they are read, and the runs are merged. At any
 * time, only a few tens of thousands of members are kept as objects; each of the others is packed into 19 bytes and its name.
 *
 * An empty batch means that a large folder is still being read. A reply may begin at this point.
 */
export class SortedListing implements AsyncIterable<ListedEntry[]> {
  readonly #batches: AsyncIterable<Entry[]>;
  readonly #compare: Compare;
  /** Number of members read so far. All members have been read before the first one is yielded. */
  count = 0;

  /** @param batches entries in any order; sorting is fastest if they have the order of `accountListing` */
  constructor(batches: AsyncIterable<Entry[]>, compare: Compare) {
    this.#batches = batches;
    this.#compare = compare;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ListedEntry[]> {
    const runs: Run[] = [];
    let block: ListedEntry[] = [];
    const keep = () => {
      const areMany = this.count >= blockEntries;
      for (const run of this.#inRuns(block)) runs.push(new Run(areMany ? unpacked(packed(run)) : run.values()));
      block = [];
    };
    for await (const batch of this.#batches) {
      const entries: ListedEntry[] = [...batch].sort(byName);
      const [first] = entries;
      const last = block.at(-1);
      if (block.length >= blockEntries || (first && last && byName(first, last) < 0)) keep();
      for (const entry of entries) block.push(entry);
      this.count += batch.length;
      if (this.count >= largeEntries) yield [];
    }
    keep();
    let given: ListedEntry[] = [];
    for (const entry of merged(runs, this.#compare)) {
      given.push(entry);
      if (given.length < batchEntries) continue;
      yield given;
      given = [];
      await new Promise(setImmediate);
    }
    if (given.length > 0) yield given;
  }

  // The block is sorted by name. So it is often nearly sorted in other orders, too, and its runs are sorted quickly.
  #inRuns(block: ListedEntry[]): ListedEntry[][] {
    if (this.#compare === byName) return [block];
    const runs: ListedEntry[][] = [];
    for (let at = 0; at < block.length; at += runEntries) runs.push(block.slice(at, at + runEntries).sort(this.#compare));
    return runs;
  }
}

class Run {
  readonly #entries: Iterator<ListedEntry, undefined>;
  first: ListedEntry | undefined;

  constructor(entries: Iterator<ListedEntry, undefined>) {
    this.#entries = entries;
    this.advance();
  }

  advance(): void {
    this.first = this.#entries.next().value;
  }
}

function packed(entries: readonly ListedEntry[]): Buffer {
  const lengthBytes = entries.reduce((sum, { name }) => sum + headBytes + Buffer.byteLength(name), 0);
  const bytes = Buffer.allocUnsafeSlow(lengthBytes);
  let at = 0;
  for (const { name, isFolder, isLink, sizeBytes, modifiedMs } of entries) {
    bytes.writeUInt8((isFolder ? folderFlag : 0) | (isLink ? linkFlag : 0), at);
    bytes.writeDoubleLE(sizeBytes, at + 3);
    bytes.writeDoubleLE(modifiedMs, at + 11);
    const nameBytes = bytes.write(name, at + headBytes);
    bytes.writeUInt16LE(nameBytes, at + 1);
    at += headBytes + nameBytes;
  }
  return bytes;
}

function* unpacked(bytes: Buffer): Generator<ListedEntry, undefined> {
  for (let at = 0; at < bytes.length; ) {
    const flags = bytes.readUInt8(at);
    const end = at + headBytes + bytes.readUInt16LE(at + 1);
    yield {
      name: bytes.toString('utf8', at + headBytes, end),
      isFolder: (flags & folderFlag) !== 0,
      sizeBytes: bytes.readDoubleLE(at + 3),
      modifiedMs: bytes.readDoubleLE(at + 11),
      isLink: (flags & linkFlag) !== 0,
    };
    at = end;
  }
}

function* merged(runs: readonly Run[], compare: Compare): Generator<ListedEntry> {
  // The runs are kept in reverse order, so that the run with the next entry is the last.
  const waiting: Run[] = [];
  for (const run of runs) if (run.first) insert(waiting, run, compare);
  for (let run = waiting.pop(); run; run = waiting.pop()) {
    const next = waiting.at(-1)?.first;
    do {
      yield run.first as ListedEntry;
      run.advance();
    } while (run.first && (!next || compare(run.first, next) <= 0));
    if (run.first) insert(waiting, run, compare);
  }
}

function insert(waiting: Run[], run: Run, compare: Compare): void {
  let low = 0;
  let high = waiting.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(waiting[middle]?.first as ListedEntry, run.first as ListedEntry) > 0) low = middle + 1;
    else high = middle;
  }
  waiting.splice(low, 0, run);
}
