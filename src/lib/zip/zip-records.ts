import { crc32 } from 'node:zlib';
import { ServiceError } from '../errors.ts';

/**
 * The exact length in bytes of an archive of stored entries, known before its first byte.
 *
 * @param entries all members, in the order they will be written
 */
export function zipLength(entries: Iterable<ZipEntry>): number {
  let offset = 0;
  let directoryBytes = 0;
  let count = 0;
  for (const entry of entries) {
    directoryBytes += centralHeaderLength(entry, offset);
    offset += localHeaderLength(entry) + entry.sizeBytes + (hasDescriptor(entry) ? descriptorLength(entry) : 0);
    count++;
  }
  return offset + directoryBytes + endRecords(count, directoryBytes, offset).length;
}

/** Central directory records are gathered into blocks of this size: a million small objects would cost far more memory. */
const blockBytes = 256 * 1024;

/**
 * Writes a ZIP archive of stored entries, one call after the other: for each member `begin`, its data through `data`,
 * `end`; then `finish`. Nothing is kept but the central directory. ZIP64 where it is needed, UTF-8 names.
 */
export class ZipWriter {
  readonly #blocks: Buffer[] = [];
  #block = Buffer.alloc(blockBytes);
  #blockUsedBytes = 0;
  #entries = 0;
  #directoryBytes = 0;
  #offset = 0;
  #current: { entry: ZipEntry; offset: number; crc: number; leftBytes: number } | undefined;

  /**
   * Begins a member.
   *
   * @param content all of its data, for members without a descriptor (`hasDescriptor`), which then need no `data`; the caller
   *   sends it behind the header
   * @returns the local header
   */
  begin(entry: ZipEntry, content?: Buffer): Buffer {
    if (this.#current) throw new Error('The entry before was not ended.');
    const crc = content === undefined ? 0 : crc32(content);
    const contentBytes = content?.length ?? 0;
    this.#current = { entry, offset: this.#offset, crc, leftBytes: entry.sizeBytes - contentBytes };
    const header = localHeader(entry, crc);
    this.#offset += header.length + contentBytes;
    return header;
  }

  /**
   * Notes data of the current member; the caller sends it.
   *
   * @throws ServiceError `internal` when there is more than the entry announced
   */
  data(chunk: Buffer): void {
    const current = this.#now();
    if (chunk.length > current.leftBytes) throw new ServiceError('internal', 'A file became longer while it was archived.');
    current.crc = crc32(chunk, current.crc);
    current.leftBytes -= chunk.length;
    this.#offset += chunk.length;
  }

  /**
   * Ends the current member.
   *
   * @returns what follows its data: a descriptor, or nothing
   * @throws ServiceError `unavailable` when there was less data than announced
   */
  end(): Buffer {
    const { entry, offset, crc, leftBytes } = this.#now();
    if (leftBytes > 0) throw new ServiceError('unavailable', 'A file became shorter while it was archived.');
    this.#current = undefined;
    this.#keep(centralHeader(entry, crc, offset));
    const trailer = hasDescriptor(entry) ? descriptor(entry, crc) : Buffer.alloc(0);
    this.#offset += trailer.length;
    return trailer;
  }

  /** The central directory and what ends the archive, in blocks. */
  *finish(): Generator<Buffer> {
    yield* this.#blocks;
    yield this.#block.subarray(0, this.#blockUsedBytes);
    yield endRecords(this.#entries, this.#directoryBytes, this.#offset);
  }

  #now() {
    if (!this.#current) throw new Error('No entry was started.');
    return this.#current;
  }

  #keep(record: Buffer): void {
    this.#entries++;
    this.#directoryBytes += record.length;
    if (this.#blockUsedBytes + record.length > this.#block.length) {
      this.#blocks.push(this.#block.subarray(0, this.#blockUsedBytes));
      this.#block = Buffer.alloc(Math.max(blockBytes, record.length));
      this.#blockUsedBytes = 0;
    }
    record.copy(this.#block, this.#blockUsedBytes);
    this.#blockUsedBytes += record.length;
  }
}

/** One member of an archive. */
export interface ZipEntry {
  /** Name in the archive, `/`-separated, with a `/` at the end for folders. */
  name: string;
  isFolder: boolean;
  sizeBytes: number;
  /** Unix time in milliseconds. */
  modifiedMs: number;
}

/** Values from here on do not fit 32 bits and need ZIP64 (APPNOTE 4.4.1.4). */
export const zip64Limit = 0xffffffff;
const zip64EntriesLimit = 0xffff;

/**
 * Files up to this size are read before their header is written, so that the header has the CRC and no data descriptor
 * is needed: readers that stream cannot find the end of stored data otherwise.
 */
export const crcFirstBytes = 1024 * 1024;

/** Whether the CRC follows the data in a descriptor (APPNOTE 4.3.9). */
export function hasDescriptor(entry: ZipEntry): boolean {
  return entry.sizeBytes > crcFirstBytes;
}

/** Whether a member is too large for the fields of 32 bits (APPNOTE 4.3.9.2). */
export function isZip64(entry: ZipEntry): boolean {
  return entry.sizeBytes >= zip64Limit;
}

const utf8Flag = 0x0800;
const descriptorFlag = 0x0008;
const madeByUnix = 0x0300;

function entryFlags(entry: ZipEntry): number {
  return utf8Flag | (hasDescriptor(entry) ? descriptorFlag : 0);
}

// Both headers of a member ask for it.
let lastDosTime = { modifiedMs: Number.NaN, time: 0, date: 0 };

/** Time and date of MS-DOS (APPNOTE 4.4.6), local time as is the custom, within 1980 to 2107. */
function dosTime(modifiedMs: number): { time: number; date: number } {
  if (modifiedMs === lastDosTime.modifiedMs) return lastDosTime;
  const at = new Date(modifiedMs);
  const year = Math.min(Math.max(at.getFullYear(), 1980), 2107);
  lastDosTime = {
    modifiedMs,
    time: (at.getHours() << 11) | (at.getMinutes() << 5) | (at.getSeconds() >> 1),
    date: ((year - 1980) << 9) | ((at.getMonth() + 1) << 5) | at.getDate(),
  };
  return lastDosTime;
}

/** Seconds of the extended timestamp (0x5455), in UTC where DOS time is local; undefined when the field cannot hold them. */
function unixSeconds(entry: ZipEntry): number | undefined {
  const seconds = Math.floor(entry.modifiedMs / 1000);
  return seconds > 0x7fffffff || seconds < -0x80000000 ? undefined : seconds;
}

const timestampBytes = 9;

/** Bytes of both extra fields (APPNOTE 4.5.3, and Info-ZIP's timestamp). @param large how many values ZIP64 has to hold */
function extraLength(entry: ZipEntry, large: number): number {
  return (large === 0 ? 0 : 4 + 8 * large) + (unixSeconds(entry) === undefined ? 0 : timestampBytes);
}

/** Little-endian fields, written one after the other. */
class ZipRecord {
  readonly bytes: Buffer;
  #at = 0;

  constructor(length: number) {
    this.bytes = Buffer.alloc(length);
  }

  u16(...values: number[]): this {
    for (const value of values) this.#at = this.bytes.writeUInt16LE(value, this.#at);
    return this;
  }

  u32(...values: number[]): this {
    for (const value of values) this.#at = this.bytes.writeUInt32LE(value, this.#at);
    return this;
  }

  u64(...values: number[]): this {
    for (const value of values) this.#at = this.bytes.writeBigUInt64LE(BigInt(value), this.#at);
    return this;
  }

  text(text: string): this {
    this.#at += this.bytes.write(text, this.#at);
    return this;
  }

  /** Both extra fields. @param large the values that ZIP64 has to hold */
  extras(entry: ZipEntry, large: readonly number[]): this {
    if (large.length > 0) this.u16(0x0001, 8 * large.length).u64(...large);
    const seconds = unixSeconds(entry);
    return seconds === undefined
      ? this
      : this.u16(0x5455, 5)
          .text('\x01')
          .u32(seconds >>> 0);
  }
}

/** Length of `localHeader` in bytes. */
export function localHeaderLength(entry: ZipEntry): number {
  return 30 + Buffer.byteLength(entry.name) + extraLength(entry, isZip64(entry) ? 2 : 0);
}

/** Local file header (APPNOTE 4.3.7). @param crc of the data, 0 when a descriptor follows */
export function localHeader(entry: ZipEntry, crc: number): Buffer {
  const large = isZip64(entry) ? [entry.sizeBytes, entry.sizeBytes] : [];
  const extraBytes = extraLength(entry, large.length);
  const nameBytes = Buffer.byteLength(entry.name);
  const { time, date } = dosTime(entry.modifiedMs);
  const shownSize = Math.min(entry.sizeBytes, zip64Limit);
  return new ZipRecord(30 + nameBytes + extraBytes)
    .u32(0x04034b50)
    .u16(isZip64(entry) ? 45 : 20, entryFlags(entry), 0, time, date)
    .u32(crc, shownSize, shownSize)
    .u16(nameBytes, extraBytes)
    .text(entry.name)
    .extras(entry, large).bytes;
}

/** Length of `descriptor` in bytes. */
export function descriptorLength(entry: ZipEntry): number {
  return isZip64(entry) ? 24 : 16;
}

/** Data descriptor with its signature (APPNOTE 4.3.9). */
export function descriptor(entry: ZipEntry, crc: number): Buffer {
  const record = new ZipRecord(descriptorLength(entry)).u32(0x08074b50, crc);
  return isZip64(entry) ? record.u64(entry.sizeBytes, entry.sizeBytes).bytes : record.u32(entry.sizeBytes, entry.sizeBytes).bytes;
}

function zip64Values(entry: ZipEntry, offset: number): number[] {
  return [...(isZip64(entry) ? [entry.sizeBytes, entry.sizeBytes] : []), ...(offset >= zip64Limit ? [offset] : [])];
}

/** Length of `centralHeader` in bytes. */
export function centralHeaderLength(entry: ZipEntry, offset: number): number {
  const large = (isZip64(entry) ? 2 : 0) + (offset >= zip64Limit ? 1 : 0);
  return 46 + Buffer.byteLength(entry.name) + extraLength(entry, large);
}

/** Central directory header (APPNOTE 4.3.12). */
export function centralHeader(entry: ZipEntry, crc: number, offset: number): Buffer {
  const large = zip64Values(entry, offset);
  const extraBytes = extraLength(entry, large.length);
  const nameBytes = Buffer.byteLength(entry.name);
  const { time, date } = dosTime(entry.modifiedMs);
  const version = large.length > 0 ? 45 : 20;
  const shownSize = Math.min(entry.sizeBytes, zip64Limit);
  // Unix mode in the upper half, the DOS directory bit in the lower.
  const attributes = (entry.isFolder ? (0o40755 << 16) | 0x10 : 0o100644 << 16) >>> 0;
  return new ZipRecord(46 + nameBytes + extraBytes)
    .u32(0x02014b50)
    .u16(madeByUnix | version, version, entryFlags(entry), 0, time, date)
    .u32(crc, shownSize, shownSize)
    .u16(nameBytes, extraBytes, 0, 0, 0)
    .u32(attributes, Math.min(offset, zip64Limit))
    .text(entry.name)
    .extras(entry, large).bytes;
}

/** End of central directory, with the ZIP64 records where they are needed (APPNOTE 4.3.14 to 4.3.16). */
export function endRecords(entries: number, directoryBytes: number, directoryOffset: number): Buffer {
  const shownEntries = Math.min(entries, zip64EntriesLimit);
  const [shownBytes, shownOffset] = [Math.min(directoryBytes, zip64Limit), Math.min(directoryOffset, zip64Limit)];
  const end = new ZipRecord(22).u32(0x06054b50).u16(0, 0, shownEntries, shownEntries).u32(shownBytes, shownOffset).bytes;
  if (entries < zip64EntriesLimit && directoryBytes < zip64Limit && directoryOffset < zip64Limit) return end;
  const end64 = new ZipRecord(56)
    .u32(0x06064b50)
    .u64(44)
    .u16(madeByUnix | 45, 45)
    .u32(0, 0)
    .u64(entries, entries, directoryBytes, directoryOffset).bytes;
  const locator = new ZipRecord(20)
    .u32(0x07064b50, 0)
    .u64(directoryOffset + directoryBytes)
    .u32(1).bytes;
  return Buffer.concat([end64, locator, end]);
}

// Windows reads `\` as a separator and `C:` as a drive.
const unsafePart = /\\|^[a-z]:/i;

/** Makes a name that no archiver reads as a path: `\` and the `:` of a drive prefix become `_`. */
export function safeName(name: string): string {
  return unsafePart.test(name) ? name.replaceAll('\\', '_').replace(/^([a-z]):/i, '$1_') : name;
}

/**
 * Names the members of one folder in an archive: `safeName`, and if that is taken with ` (2)`, ` (3)` … before the extension. Safe names
 * stay.
 *
 * @param names each once; their order does not matter
 * @returns new names by old names, only for those that change
 */
export function archiveNames(names: readonly string[]): ReadonlyMap<string, string> {
  const unsafe = names.filter((name) => unsafePart.test(name)).sort();
  if (unsafe.length === 0) return new Map();
  const taken = new Set(names);
  const lastNumbers = new Map<string, number>();
  const changed = new Map<string, string>();
  for (const name of unsafe) {
    const wanted = safeName(name);
    let free = wanted;
    let number = lastNumbers.get(wanted) ?? 1;
    while (taken.has(free)) free = numbered(wanted, ++number);
    lastNumbers.set(wanted, number);
    taken.add(free);
    changed.set(name, free);
  }
  return changed;
}

function numbered(name: string, number: number): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? `${name.slice(0, dot)} (${number})${name.slice(dot)}` : `${name} (${number})`;
}
