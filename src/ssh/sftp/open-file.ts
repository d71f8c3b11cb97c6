import { fstatSync, readSync } from 'node:fs';
import type { AccountFiles } from '../../files/account-files.ts';
import { asServiceError } from '../../files/disk/system-errors.ts';
import { type Entry, toEntry } from '../../files/entry.ts';
import type { OpenDownload } from '../../files/operations/file-download.ts';
import type { AttributeChange } from '../../files/operations/set-attributes.ts';
import { ReadWriteLock } from '../../lib/concurrency/read-write-lock.ts';
import { readvAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { OpenHandle } from './open-handles.ts';

/** So much is read at once: more would only let the first of a group wait. */
const maxBytesAtOnce = 256 * 1024;

/** Fills the targets, one after the other, from a place of a file. @returns bytes read; fewer than they have room for, at its end at the latest */
type ReadInto = (targets: readonly Buffer[], position: number) => Promise<number>;

interface Read {
  offset: number;
  target: Buffer;
  resolve: (bytes: number) => void;
  reject: (error: unknown) => void;
}

/**
 * Reads of a file that come in one turn of the event loop and go on where the one before ends are done as one: some clients ask for a large
 * file in pieces of 32 KiB, and the way through the thread pool takes longer than reading such a piece.
 */
export class ReadGroup {
  readonly #readInto: ReadInto;
  #reads: Read[] = [];

  constructor(readInto: ReadInto) {
    this.#readInto = readInto;
  }

  /** @returns bytes read into the target; fewer than it has room for, at the end of the file at the latest, 0 there alone */
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
        // A file system may give less than there is: whether this is the end, its own read tells.
        if (bytes === 0 && read !== reads[0]) void this.#readTogether([read]);
        else read.resolve(bytes);
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}

/** How many of the first reads go on where the one before ends, and are not too much at once. */
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

/** Up to this size a synchronous read beats the thread pool by far (docs/design/costs.md). */
const smallFileBytes = 128 * 1024;

/** A file that is open for reading. */
export class OpenFile implements OpenHandle {
  readonly kind = 'file';
  readonly path: VirtualPath;
  readonly turns = new ReadWriteLock();
  readonly #files: AccountFiles;
  readonly #download: OpenDownload;
  readonly #isSmall: boolean;
  readonly #reads = new ReadGroup(async (targets, position) => (await readvAsync(this.#download.fd, targets, position)).bytesRead);
  #hasFailed = false;

  /** Opens a file; event `sftpFileOpened`, or `sftpOpenFailed`. */
  constructor(files: AccountFiles, path: VirtualPath) {
    this.#files = files;
    this.path = path;
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

  async write(): Promise<void> {
    throw notWritable();
  }

  async truncate(): Promise<void> {
    throw notWritable();
  }

  async setAttributes(change: AttributeChange): Promise<void> {
    await this.#files.setAttributes(this.path, change);
  }

  async sync(): Promise<void> {}

  async close(): Promise<void> {
    this.#download.end(this.#hasFailed ? 'failed' : undefined);
  }

  async lose(): Promise<void> {
    this.#download.end('client-gone');
  }
}

function notWritable(): ServiceError {
  return new ServiceError('forbidden', 'The file is not open for writing.');
}
