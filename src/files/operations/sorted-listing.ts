import type { Entry, ListedEntry } from '../entry.ts';

/** Entries that are sorted at once, which takes a few milliseconds where names are compared as people do; so many are never packed. */
const runEntries = 1024;

/** Entries that are given at once; between two batches other requests run. */
const batchEntries = 256;

/** Bytes of a packed entry before its name: flags, length of the name in bytes, size, modification time. */
const headBytes = 19;

const folderFlag = 1;
const linkFlag = 2;

/** An order of entries, as of `Array.prototype.sort`. */
export type Compare = (a: ListedEntry, b: ListedEntry) => number;

/** Orders entries by the code points of their names, which UTF-16 order is not for characters beyond the basic plane. */
export function byName({ name: a }: ListedEntry, { name: b }: ListedEntry): number {
  const shorter = Math.min(a.length, b.length);
  for (let index = 0; index < shorter; index++) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA !== unitB) return codePointRank(unitA) - codePointRank(unitB);
  }
  return a.length - b.length;
}

// Surrogates stand for code points above all of the basic plane.
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/**
 * The members of a folder in an order, in batches. However many there are, some thousand of them are objects; all others are bytes, 19 and
 * the name for each: sorted in runs as they come, and merged while they are read.
 *
 * An empty batch means that there are more than one run and that the reading goes on: a reply may begin.
 */
export class SortedListing implements AsyncIterable<ListedEntry[]> {
  readonly #batches: AsyncIterable<Entry[]>;
  readonly #compare: Compare;
  /** How many members were read so far: all of them once the first is given. */
  count = 0;

  /** @param batches in any order */
  constructor(batches: AsyncIterable<Entry[]>, compare: Compare) {
    this.#batches = batches;
    this.#compare = compare;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ListedEntry[]> {
    const runs: Run[] = [];
    let entries: ListedEntry[] = [];
    for await (const batch of this.#batches) {
      for (const entry of batch) entries.push(entry);
      this.count += batch.length;
      if (entries.length < runEntries) continue;
      runs.push(new Run(entries.sort(this.#compare)));
      entries = [];
      yield [];
    }
    entries.sort(this.#compare);
    if (runs.length > 0 && entries.length > 0) runs.push(new Run(entries));
    const sorted = runs.length > 0 ? merged(runs, this.#compare) : entries;
    let given: ListedEntry[] = [];
    for (const entry of sorted) {
      given.push(entry);
      if (given.length < batchEntries) continue;
      yield given;
      given = [];
      await new Promise(setImmediate);
    }
    if (given.length > 0) yield given;
  }
}

/** Sorted entries as bytes, and the first of them that was not taken yet. */
class Run {
  readonly #bytes: Buffer;
  #next = 0;
  /** Undefined at the end. */
  first: ListedEntry | undefined;

  /** @param entries sorted, at least one */
  constructor(entries: readonly ListedEntry[]) {
    this.#bytes = packed(entries);
    this.advance();
  }

  advance(): void {
    this.first = this.#next < this.#bytes.length ? this.#unpack() : undefined;
  }

  #unpack(): ListedEntry {
    const bytes = this.#bytes;
    const at = this.#next;
    const flags = bytes.readUInt8(at);
    this.#next = at + headBytes + bytes.readUInt16LE(at + 1);
    return {
      name: bytes.toString('utf8', at + headBytes, this.#next),
      isFolder: (flags & folderFlag) !== 0,
      sizeBytes: bytes.readDoubleLE(at + 3),
      modifiedMs: bytes.readDoubleLE(at + 11),
      isLink: (flags & linkFlag) !== 0,
    };
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

function* merged(runs: readonly Run[], compare: Compare): Generator<ListedEntry> {
  // The run whose entry comes first is the last here.
  const waiting: Run[] = [];
  for (const run of runs) insert(waiting, run, compare);
  for (let run = waiting.pop(); run?.first; run = waiting.pop()) {
    yield run.first;
    run.advance();
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
