import { crc32 } from 'node:zlib';
import { ServiceError } from '../../lib/errors.ts';
import {
  centralHeader,
  centralHeaderLength,
  descriptor,
  descriptorLength,
  endRecords,
  hasDescriptor,
  localHeader,
  localHeaderLength,
  type ZipEntry,
} from '../../lib/zip/zip-records.ts';

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
    if (!this.#current) throw new Error('No entry was begun.');
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
