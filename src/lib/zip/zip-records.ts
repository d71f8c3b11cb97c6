import { crc32 } from 'node:zlib';
import { ServiceError } from '../errors.ts';

/**
 * Returns the exact length of an archive in bytes. Its entries are stored without compression.
 *
 * @param entries all members, in the order in which they will be written
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

/** Size in bytes of the blocks that collect central directory records. A million small buffers would use far more memory. */
const blockBytes = 256 * 1024;

/**
 * Writes a ZIP archive. Entries are stored without compression, and have UTF-8 names. ZIP64 is used where it is needed. Call `begin`,
 * `data` and `end` for each member, and then `finish`. Only the central directory is kept in memory.
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
   * @param content the whole data of a member without a descriptor (`hasDescriptor`). The caller sends it after the header, and does not
   *   call `data`
   * @returns the local header
   */
  begin(entry: ZipEntry, content?: Buffer): Buffer {
    if (this.#current) throw new Error('The previous entry was not ended.');
    const crc = content === undefined ? 0 : crc32(content);
    const contentBytes = content?.length ?? 0;
    this.#current = { entry, offset: this.#offset, crc, leftBytes: entry.sizeBytes - contentBytes };
    const header = localHeader(entry, crc);
    this.#offset += header.length + contentBytes;
    return header;
  }

  /**
   * Adds data of the current member to its CRC and length. The caller sends the data.
   *
   * @throws ServiceError `internal` if there is more data than the entry announced
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
   * @returns the bytes to send after the data; empty if the member needs no descriptor
   * @throws ServiceError `unavailable` if there was less data than the entry announced
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

  /** Yields the central directory and the end records of the archive, in blocks. */
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
  /** Name in the archive, with `/` as separator, and with a final `/` for folders. */
  name: string;
  isFolder: boolean;
  sizeBytes: number;
  /** Unix time in milliseconds. */
  modifiedMs: number;
}

/** A value of at least this size does not fit a 32-bit field, and needs ZIP64 (APPNOTE 4.4.1.4). */
export const zip64Limit = 0xffffffff;
const zip64EntriesLimit = 0xffff;

/**
 * Maximum size in bytes of files that are read before their header is written. Their header contains the CRC, so they need no data
 * descriptor. Streaming readers cannot find the end of stored data if a descriptor follows it.
 */
export const crcFirstBytes = 1024 * 1024;

/** Whether the CRC follows the data in a descriptor (APPNOTE 4.3.9). */
export function hasDescriptor(entry: ZipEntry): boolean {
  return entry.sizeBytes > crcFirstBytes;
}

/** Whether a member is too large for 32-bit fields (APPNOTE 4.3.9.2). */
export function isZip64(entry: ZipEntry): boolean {
  return entry.sizeBytes >= zip64Limit;
}

const utf8Flag = 0x0800;
const descriptorFlag = 0x0008;
const madeByUnix = 0x0300;

function entryFlags(entry: ZipEntry): number {
  return utf8Flag | (hasDescriptor(entry) ? descriptorFlag : 0);
}

// The last converted time. It is kept, because both headers of a member need it.
let lastDosTime = { modifiedMs: Number.NaN, time: 0, date: 0 };

/** Converts a time to the MS-DOS format (APPNOTE 4.4.6). As is customary, it is local time. Years are limited to 1980 to 2107. */
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

/**
 * Returns the seconds for the extended timestamp (0x5455); undefined if they do not fit the field. They are in UTC, unlike the DOS time.
 */
function unixSeconds(entry: ZipEntry): number | undefined {
  const seconds = Math.floor(entry.modifiedMs / 1000);
  return seconds > 0x7fffffff || seconds < -0x80000000 ? undefined : seconds;
}

const timestampBytes = 9;

/** Returns the length of both extra fields, ZIP64 (APPNOTE 4.5.3) and Info-ZIP's timestamp. @param large number of ZIP64 values */
function extraLength(entry: ZipEntry, large: number): number {
  return (large === 0 ? 0 : 4 + 8 * large) + (unixSeconds(entry) === undefined ? 0 : timestampBytes);
}

/** Writes little-endian fields one after the other. */
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

  /** Writes both extra fields. @param large the values of the ZIP64 field */
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

/** Returns the length of `localHeader` in bytes. */
export function localHeaderLength(entry: ZipEntry): number {
  return 30 + Buffer.byteLength(entry.name) + extraLength(entry, isZip64(entry) ? 2 : 0);
}

/** Returns the local file header (APPNOTE 4.3.7). @param crc CRC-32 of the data; 0 if a descriptor follows */
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

/** Returns the length of `descriptor` in bytes. */
export function descriptorLength(entry: ZipEntry): number {
  return isZip64(entry) ? 24 : 16;
}

/** Returns the data descriptor with its signature (APPNOTE 4.3.9). */
export function descriptor(entry: ZipEntry, crc: number): Buffer {
  const record = new ZipRecord(descriptorLength(entry)).u32(0x08074b50, crc);
  return isZip64(entry) ? record.u64(entry.sizeBytes, entry.sizeBytes).bytes : record.u32(entry.sizeBytes, entry.sizeBytes).bytes;
}

function zip64Values(entry: ZipEntry, offset: number): number[] {
  return [...(isZip64(entry) ? [entry.sizeBytes, entry.sizeBytes] : []), ...(offset >= zip64Limit ? [offset] : [])];
}

/** Returns the length of `centralHeader` in bytes. */
export function centralHeaderLength(entry: ZipEntry, offset: number): number {
  const large = (isZip64(entry) ? 2 : 0) + (offset >= zip64Limit ? 1 : 0);
  return 46 + Buffer.byteLength(entry.name) + extraLength(entry, large);
}

/** Returns the central directory header (APPNOTE 4.3.12). */
export function centralHeader(entry: ZipEntry, crc: number, offset: number): Buffer {
  const large = zip64Values(entry, offset);
  const extraBytes = extraLength(entry, large.length);
  const nameBytes = Buffer.byteLength(entry.name);
  const { time, date } = dosTime(entry.modifiedMs);
  const version = large.length > 0 ? 45 : 20;
  const shownSize = Math.min(entry.sizeBytes, zip64Limit);
  // The upper half contains the Unix mode, the lower half the DOS directory bit.
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

/** Returns the end of the central directory, with ZIP64 records if needed (APPNOTE 4.3.14 to 4.3.16). */
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

// Matches `\`, which Windows treats as a separator, and a drive prefix such as `C:`.
const unsafePart = /\\|^[a-z]:/i;

/** Returns a name that no archiver treats as a path. `\` and the `:` of a drive prefix become `_`. */
export function safeName(name: string): string {
  return unsafePart.test(name) ? name.replaceAll('\\', '_').replace(/^([a-z]):/i, '$1_') : name;
}

/**
 * Chooses the names in an archive for the members of one folder. An unsafe name is replaced by its `safeName`. If that is taken, a number
 * in brackets is added before the extension, such as `a (2).txt`. Safe names are not changed.
 *
 * @param names the names, without duplicates, in any order
 * @returns a map from old names to new names, which has only the names that change
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
