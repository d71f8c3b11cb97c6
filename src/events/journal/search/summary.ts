import { closeSync, fstatSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { openIfThere, readAsync } from '../../../lib/disk/descriptors.ts';
import type { CountedBlock, Suffices } from '../event-log.ts';
import type { EventSelection } from './event-selection.ts';
import { type BlockKeys, type FilterKind, filterKinds, wantedKeys } from './selection-keys.ts';

/** Number of filter bits and of hashes for each key. With these values, about 1 % of absent keys seem present. */
const bitsPerKey = 10;
const hashes = 7;

/** Creates a Bloom filter from keys (https://en.wikipedia.org/wiki/Bloom_filter). */
export function bloomFilter(keys: ReadonlySet<string>): Buffer {
  const filter = Buffer.alloc(Math.ceil((keys.size * bitsPerKey) / 8));
  const bits = filter.length * 8;
  for (const key of keys) {
    const { first, step } = hashKey(key);
    for (let index = 0; index < hashes; index++) {
      const bit = (first + index * step) % bits;
      filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7));
    }
  }
  return filter;
}

/** The bits of a key in a filter: bit `first`, and further bits, each `step` after the one before. */
interface KeyHash {
  first: number;
  step: number;
}

/** Whether a filter may contain a key. If not, the key is certainly absent. */
export function mayHold(filter: Uint8Array, { first, step }: KeyHash): boolean {
  const bits = filter.length * 8;
  if (bits === 0) return false;
  for (let index = 0; index < hashes; index++) {
    const bit = (first + index * step) % bits;
    if (((filter[bit >>> 3] as number) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** Calculates two 32-bit hashes of a text, with the final mix of MurmurHash3. Collisions only make searches slower. */
export function hashKey(key: string): KeyHash {
  let first = 0xdeadbeef;
  let second = 0x41c6ce57;
  for (let index = 0; index < key.length; index++) {
    const unit = key.charCodeAt(index);
    first = Math.imul(first ^ unit, 2_654_435_761);
    second = Math.imul(second ^ unit, 1_597_334_677);
  }
  return { first: mix(first ^ (second >>> 13)), step: (mix(second ^ (first >>> 16)) | 1) >>> 0 };
}

function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 2_246_822_507);
  hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_909);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * A summary is a file beside a journal file that is no longer appended to. It shows which blocks of the journal file may contain an event.
 * It begins with the line `svc-summary VERSION LENGTH CRC32`, with the length and checksum of the header. The header (JSON) follows, and
 * then one section for each kind of filter, with the filters of all blocks. If a summary is torn, or belongs to another file, the whole
 * journal file is read.
 */
const version = 2;
const firstLine = /^svc-summary (\d+) (\d+) (\d+)\n/;
const longestFirstLine = 64;

/**
 * The checksum of this number of bytes at the beginning of a journal file distinguishes it from other files with the same name and size.
 */
const fingerprintBytes = 1024;

/** The summary of a block. A block is a part of a journal file that consists of complete lines. */
export interface BlockSummary {
  bytes: number;
  /** Times of the earliest and latest event, Unix time in milliseconds; null if the block has no events. */
  first_ms: number | null;
  last_ms: number | null;
  counts: Record<string, number>;
  /** Sizes of the filters in bytes, in the order of `filterKinds`. */
  filters: number[];
}

interface SummaryHeader {
  journal_bytes: number;
  journal_crc32: number;
  bad_lines: number;
  blocks: BlockSummary[];
  /** One section for each of `filterKinds`. */
  sections: { bytes: number; crc32: number }[];
}

/** A part of a journal file that may contain selected events. */
export interface Range {
  start: number;
  end: number;
  /** Set if the caller needs only the counts of the part's events (`suffices`), so that the part need not be read. */
  counted?: CountedBlock | undefined;
}

/** Returns the path of the summary of a journal file, for example `events-00000001.summary`. */
export function summaryPath(segmentPath: string): string {
  return segmentPath.replace(/\.ndjson$/, '.summary');
}

/** Builds a summary block by block. */
export class SummaryBuilder {
  readonly #blocks: BlockSummary[] = [];
  readonly #sections = filterKinds.map((): Buffer[] => []);

  add(bytes: number, about: Pick<BlockSummary, 'first_ms' | 'last_ms' | 'counts'>, keys: BlockKeys): void {
    const filters = filterKinds.map((kind) => bloomFilter(keys[kind]));
    for (const [index, filter] of filters.entries()) this.#sections[index]?.push(filter);
    this.#blocks.push({ bytes, ...about, filters: filters.map(({ length }) => length) });
  }

  build(journal: Pick<SummaryHeader, 'journal_bytes' | 'journal_crc32' | 'bad_lines'>): Buffer {
    const sections = this.#sections.map((filters) => Buffer.concat(filters));
    const described = sections.map((section) => ({ bytes: section.length, crc32: crc32(section) }));
    const header: SummaryHeader = { ...journal, blocks: this.#blocks, sections: described };
    const text = Buffer.from(JSON.stringify(header));
    return Buffer.concat([Buffer.from(`svc-summary ${version} ${text.length} ${crc32(text)}\n`), text, ...sections]);
  }
}

/** Reads the size of a journal file and the checksum of its beginning. Together they identify the file. */
export async function readFingerprint(fd: number): Promise<Pick<SummaryHeader, 'journal_bytes' | 'journal_crc32'>> {
  return { journal_bytes: fstatSync(fd).size, journal_crc32: crc32(await readBytes(fd, 0, fingerprintBytes)) };
}

/** Opens the summary of a journal file and reads from it with `read`. @returns undefined if there is no valid summary of this file */
export async function readSummary<T>(segmentPath: string, read: (summary: Summary) => Promise<T>): Promise<T | undefined> {
  const journalFd = openIfThere(segmentPath);
  const fd = journalFd === undefined ? undefined : openIfThere(summaryPath(segmentPath));
  try {
    if (journalFd === undefined || fd === undefined) return undefined;
    const found = await readHeader(fd).catch(() => undefined);
    const journal = await readFingerprint(journalFd);
    if (found?.header.journal_bytes !== journal.journal_bytes || found.header.journal_crc32 !== journal.journal_crc32) return undefined;
    return await read(new Summary(fd, found.header, found.bytes));
  } finally {
    for (const open of [journalFd, fd]) if (open !== undefined) closeSync(open);
  }
}

class Summary {
  readBytes = 0;
  readonly #fd: number;
  readonly #header: SummaryHeader;
  readonly #sectionsAt: number;

  constructor(fd: number, header: SummaryHeader, sectionsAt: number) {
    this.#fd = fd;
    this.#header = header;
    this.#sectionsAt = sectionsAt;
    this.readBytes = sectionsAt;
  }

  get badLines(): number {
    return this.#header.bad_lines;
  }

  /**
   * @param suffices whether the counts of a part's events are enough
   * @returns the parts of the journal file that may contain a selected event, in order; undefined if the filters are torn
   */
  async findRanges(selection: EventSelection, suffices?: Suffices): Promise<Range[] | undefined> {
    const { blocks } = this.#header;
    let may = blocks.map((block) => isInTime(block, selection));
    for (const { kind, keys } of wantedKeys(selection)) {
      if (!may.includes(true)) return [];
      const filters = await this.#readFilters(kind);
      if (!filters) return undefined;
      const hashes = keys.map(hashKey);
      may = may.map((isSo, index) => isSo && hashes.some((hash) => mayHold(filters[index] as Buffer, hash)));
    }
    const ranges: Range[] = [];
    let start = 0;
    for (const [index, block] of blocks.entries()) {
      const { bytes, first_ms, last_ms, counts } = block;
      if (may[index] && first_ms !== null && last_ms !== null) {
        const counted = { firstMs: first_ms, lastMs: last_ms, counts };
        ranges.push({ start, end: start + bytes, ...(suffices?.(counted) && { counted }) });
      }
      start += bytes;
    }
    return ranges;
  }

  /** Whether all filters can be read. */
  async isWhole(): Promise<boolean> {
    for (const kind of filterKinds) if (!(await this.#readFilters(kind))) return false;
    return true;
  }

  async #readFilters(kind: FilterKind): Promise<Buffer[] | undefined> {
    const { blocks, sections } = this.#header;
    const index = filterKinds.indexOf(kind);
    const before = sections.slice(0, index).reduce((sum, { bytes }) => sum + bytes, 0);
    const { bytes, crc32: expected } = sections[index] as SummaryHeader['sections'][number];
    const section = await readBytes(this.#fd, this.#sectionsAt + before, bytes);
    this.readBytes += section.length;
    if (section.length !== bytes || crc32(section) !== expected) return undefined;
    let start = 0;
    return blocks.map(({ filters }) => {
      const end = start + (filters[index] as number);
      const filter = section.subarray(start, end);
      start = end;
      return filter;
    });
  }
}

function isInTime({ first_ms, last_ms }: BlockSummary, { since, until }: EventSelection): boolean {
  if (first_ms === null || last_ms === null) return false;
  return !(since !== undefined && last_ms < since) && !(until !== undefined && first_ms >= until);
}

async function readHeader(fd: number): Promise<{ header: SummaryHeader; bytes: number } | undefined> {
  const [line, foundVersion, length, checksum] = firstLine.exec((await readBytes(fd, 0, longestFirstLine)).toString('latin1')) ?? [];
  if (line === undefined || Number(foundVersion) !== version || Number(length) > fstatSync(fd).size) return undefined;
  const text = await readBytes(fd, line.length, Number(length));
  if (text.length !== Number(length) || crc32(text) !== Number(checksum)) return undefined;
  return { header: JSON.parse(text.toString('utf8')) as SummaryHeader, bytes: line.length + text.length };
}

/** Reads bytes of a file at an offset. Returns fewer bytes at the end of the file. */
async function readBytes(fd: number, at: number, wanted: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(wanted);
  if (wanted === 0) return bytes;
  const { bytesRead } = await readAsync(fd, bytes, 0, wanted, at);
  return bytes.subarray(0, bytesRead);
}
