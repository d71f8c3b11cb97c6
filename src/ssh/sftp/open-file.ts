import { fstatSync, readSync } from 'node:fs';
import { eventIds } from '../../events/event-ids.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import { asServiceError } from '../../files/disk/system-errors.ts';
import { type Entry, toEntry } from '../../files/entry.ts';
import type { OpenDownload } from '../../files/operations/file-download.ts';
import { readvAsync } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { listingLine, toAttributes } from './attributes.ts';
import { type OpenHandle, ReadHandle } from './open-handles.ts';
import type { NameItem } from './packets/replies.ts';

/** Maximum number of bytes in one group of adjacent reads. In a larger group, the first read would wait for the others without a gain. */
const maxBytesAtOnce = 256 * 1024;

/**
 * Reads into the targets, in order.
 *
 * @returns the number of bytes read. This can be less than the targets hold, even before the end of the file
 */
type ReadInto = (targets: readonly Buffer[], position: number) => Promise<number>;

interface Read {
  offset: number;
  target: Buffer;
  resolve: (bytes: number) => void;
  reject: (error: unknown) => void;
}

/**
 * Joins adjacent reads of one file, if they arrive in one turn of the event loop. Some clients request a large file in pieces of 32 KiB,
 * and a call of the thread pool takes longer than reading such a piece.
 */
export class ReadGroup {
  readonly #readInto: ReadInto;
  #reads: Read[] = [];

  constructor(readInto: ReadInto) {
    this.#readInto = readInto;
  }

  /** Reads into the target. @returns the number of bytes read. This can be less than the target holds, but is 0 only at the end of file */
  read(offset: number, target: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#reads.length === 0) process.nextTick(() => this.#begin());
      this.#reads.push({ offset, target, resolve, reject });
    });
  }

  #begin(): void {
    const reads = this.#reads;
    this.#reads = [];
    while (reads.length > 0) void this.#readTogether(reads.splice(0, groupLength(reads)));
  }

  async #readTogether(reads: readonly Read[]): Promise<void> {
    try {
      const [{ offset }] = reads as [Read];
      let left = await this.#readInto(
        reads.map(({ target }) => target),
        offset,
      );
      for (const read of reads) {
        const bytes = Math.min(left, read.target.length);
        left -= bytes;
        // A file system may return fewer bytes although the file has more. Only a separate read can tell whether this is the end.
        if (bytes === 0 && read !== reads[0]) void this.#readTogether([read]);
        else read.resolve(bytes);
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}

/** Returns how many reads at the start of the list are adjacent and together do not exceed the limit. */
function groupLength(reads: readonly Read[]): number {
  let end = (reads[0] as Read).offset;
  let length = 0;
  for (const { offset, target } of reads) {
    if (length > 0 && (offset !== end || end + target.length - (reads[0] as Read).offset > maxBytesAtOnce)) break;
    end = offset + target.length;
    length++;
  }
  return length;
}

/** Up to this size, a synchronous read is much faster than a read in the thread pool (docs/design/costs.md). */
const smallFileBytes = 128 * 1024;

/** A file that is open for reading. */
export class OpenFile extends ReadHandle implements OpenHandle {
  readonly kind = 'file';
  readonly #download: OpenDownload;
  readonly #isSmall: boolean;
  readonly #reads = new ReadGroup(async (targets, position) => (await readvAsync(this.#download.fd, targets, position)).bytesRead);
  #hasFailed = false;

  /** Opens a file. Emits `sftpFileOpened` or `sftpOpenFailed`. */
  constructor(files: AccountFiles, path: VirtualPath) {
    super(files, path);
    this.#download = files.openDownload(path);
    this.#isSmall = this.#download.entry.sizeBytes <= smallFileBytes;
  }

  read(offset: number, target: Buffer): Promise<number> | number {
    return this.#isSmall ? this.#readNow(offset, target) : this.#read(offset, target);
  }

  #readNow(offset: number, target: Buffer): number {
    try {
      const bytes = readSync(this.#download.fd, target, 0, target.length, offset);
      this.#download.bytes += bytes;
      return bytes;
    } catch (error) {
      this.#hasFailed = true;
      throw asServiceError(error);
    }
  }

  async #read(offset: number, target: Buffer): Promise<number> {
    try {
      const bytesRead = await this.#reads.read(offset, target);
      this.#download.bytes += bytesRead;
      return bytesRead;
    } catch (error) {
      this.#hasFailed = true;
      throw asServiceError(error);
    }
  }

  async entry(): Promise<Entry> {
    return toEntry(this.#download.entry.name, fstatSync(this.#download.fd));
  }

  protected refusal(): ServiceError {
    return new ServiceError('forbidden', 'The file is not open for writing.');
  }

  async sync(): Promise<void> {}

  async close(): Promise<void> {
    this.#download.end(this.#hasFailed ? 'failed' : undefined);
  }

  async lose(): Promise<void> {
    this.#download.end('client-gone');
  }
}

/**
 * Maximum size of a reply with names, in bytes. Clients must accept packets of 34,000 bytes (draft-ietf-secsh-filexfer-02 §3), and some
 * accept no larger packets.
 */
const maxReplyBytes = 32_000;

/** A folder that a client has opened to read its names. */
export class Listing extends ReadHandle implements OpenHandle {
  readonly kind = 'folder';
  readonly #batches: AsyncIterator<Entry[]>;
  #entries: Entry[] = [];
  #next = 0;
  #members = 0;
  #isDone = false;

  /** Opens a folder. Emits `sftpFolderOpened` or `sftpListingFailed`. */
  constructor(files: AccountFiles, path: VirtualPath) {
    super(files, path);
    this.#batches = files.openListing(path)[Symbol.asyncIterator]();
  }

  /**
   * Returns the next names; empty at the end of the folder. Emits `sftpFolderListed` at the end, or `sftpListingFailed`.
   *
   * @param nowMs Unix time in milliseconds
   */
  async names(nowMs: number): Promise<NameItem[]> {
    const items: NameItem[] = [];
    const owner = this.files.account.name;
    try {
      for (let bytes = 0; ; this.#next++) {
        if (this.#next >= this.#entries.length && !(await this.#nextBatch(items.length > 0))) break;
        const entry = this.#entries[this.#next] as Entry;
        const longName = listingLine(entry, owner, nowMs);
        bytes += 48 + 3 * (entry.name.length + longName.length);
        if (bytes > maxReplyBytes && items.length > 0) break;
        items.push({ name: entry.name, longName, attributes: toAttributes(entry) });
      }
    } catch (error) {
      this.#isDone = true;
      throw this.files.events.reported(eventIds.listingFailed, this.path, error);
    }
    this.#members += items.length;
    if (items.length === 0 && !this.#isDone) {
      this.#isDone = true;
      this.files.events.emit(eventIds.sftpFolderListed, this.path, { members: this.#members });
    }
    return items;
  }

  // Reads the next batch, unless the reply already has names. These names are sent before the disk is read again.
  async #nextBatch(isEnough: boolean): Promise<boolean> {
    if (isEnough || this.#isDone) return false;
    do {
      const { value, done } = await this.#batches.next();
      if (done) return false;
      this.#entries = value;
      this.#next = 0;
    } while (this.#entries.length === 0);
    return true;
  }

  protected refusal(): ServiceError {
    return new ServiceError('is-folder', 'The handle refers to a folder.');
  }

  async entry(): Promise<Entry> {
    const entry = this.files.inspect(this.path);
    if (!entry) throw new ServiceError('not-found', 'Path not found.');
    return entry;
  }

  async read(): Promise<number> {
    throw this.refusal();
  }

  async sync(): Promise<void> {
    throw this.refusal();
  }

  async close(): Promise<void> {
    await this.#batches.return?.();
  }

  async lose(): Promise<void> {
    await this.close().catch((error) => {
      if (!isServiceError(error)) throw error;
    });
  }
}
