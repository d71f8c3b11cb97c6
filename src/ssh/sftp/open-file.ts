import { fstatSync, readSync } from 'node:fs';
import type { AccountFiles } from '../../files/account-files.ts';
import { asServiceError } from '../../files/disk/system-errors.ts';
import { type Entry, entryOf } from '../../files/entry.ts';
import type { OpenDownload } from '../../files/operations/file-download.ts';
import type { AttributeChange } from '../../files/operations/set-attributes.ts';
import { readvAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import { OrderedTurns } from '../../lib/turns/ordered-turns.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { OpenHandle } from './open-handle.ts';
import { ReadGroup } from './read-group.ts';

/** Up to this size a synchronous read beats the thread pool by far (docs/operate/performance.md#costs-that-shaped-the-code). */
const smallFileBytes = 128 * 1024;

/** A file that is open for reading. */
export class OpenFile implements OpenHandle {
  readonly kind = 'file';
  readonly path: VirtualPath;
  readonly turns = new OrderedTurns();
  readonly #files: AccountFiles;
  readonly #download: OpenDownload;
  readonly #isSmall: boolean;
  readonly #reads = new ReadGroup(async (targets, position) => (await readvAsync(this.#download.fd, targets, position)).bytesRead);
  #hasFailed = false;

  /** Opens a file; event 30043, or 30044. */
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
    return entryOf(this.#download.entry.name, fstatSync(this.#download.fd));
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
