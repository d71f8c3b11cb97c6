import { eventIds } from '../../events/event-ids.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import { ReadWriteLock } from '../../lib/concurrency/read-write-lock.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { listingLine, toAttributes } from './attributes.ts';
import type { OpenHandle } from './open-handles.ts';
import type { NameItem } from './packets/replies.ts';

/** Clients have to take packets of 34,000 bytes (draft-ietf-secsh-filexfer-02 §3); some take no larger ones. */
const maxReplyBytes = 32_000;

/** A folder that a client reads. */
export class Listing implements OpenHandle {
  readonly kind = 'folder';
  readonly path: VirtualPath;
  readonly turns = new ReadWriteLock();
  readonly #files: AccountFiles;
  readonly #batches: AsyncIterator<Entry[]>;
  #entries: Entry[] = [];
  #next = 0;
  #members = 0;
  #isDone = false;

  /** Opens a folder; event `sftpFolderOpened`, or `sftpListingFailed`. */
  constructor(files: AccountFiles, path: VirtualPath) {
    this.#files = files;
    this.path = path;
    this.#batches = files.openListing(path)[Symbol.asyncIterator]();
  }

  /**
   * The next names, empty at the end of the folder; event `sftpFolderListed` with them, or `sftpListingFailed`.
   *
   * @param nowMs Unix time in milliseconds
   */
  async names(nowMs: number): Promise<NameItem[]> {
    const items: NameItem[] = [];
    const owner = this.#files.account.name;
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
      throw this.#files.reported(eventIds.listingFailed, this.path, error);
    }
    this.#members += items.length;
    if (items.length === 0 && !this.#isDone) {
      this.#isDone = true;
      this.#files.emit(eventIds.sftpFolderListed, this.path, { members: this.#members });
    }
    return items;
  }

  // What is there is sent before the disk is asked for more.
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

  async entry(): Promise<Entry> {
    const entry = this.#files.inspect(this.path);
    if (!entry) throw new ServiceError('not-found', 'Path not found.');
    return entry;
  }

  async read(): Promise<number> {
    throw notFile();
  }

  async write(): Promise<void> {
    throw notFile();
  }

  async truncate(): Promise<void> {
    throw notFile();
  }

  setAttributes: OpenHandle['setAttributes'] = (change) => this.#files.setAttributes(this.path, change);

  async sync(): Promise<void> {
    throw notFile();
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

function notFile(): ServiceError {
  return new ServiceError('is-folder', 'The handle is that of a folder.');
}
