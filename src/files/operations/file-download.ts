import type { SharedMembers } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import type { KeptFile } from '../disk/file-cache.ts';
import { closeFile } from '../disk/freeing.ts';
import type { OpenedFile } from '../disk/opened.ts';
import { type Entry, toEntry } from '../entry.ts';
import type { Transfer } from '../transfers.ts';

/** The `details` of a failed download that the client itself ended. */
export const clientGoneDetails = 'The client went away.';

/** A file that is being read. Emits `fileOpened`. Then the caller ends it: with `release`, or with `end`, which emits further events. */
abstract class Reading implements Transfer {
  readonly direction = 'download';
  readonly files: AccountPaths;
  readonly path: VirtualPath;
  readonly entry: Entry;
  readonly startedMs: number;
  /** Bytes sent so far; the sender counts them. */
  bytes = 0;
  /** Bytes to be sent; for a range, fewer than the size of the file. */
  totalBytes: number;
  readonly #members: SharedMembers;
  #isOver = false;

  constructor(files: AccountPaths, path: VirtualPath, entry: Entry, members: SharedMembers) {
    this.files = files;
    this.path = path;
    this.entry = entry;
    this.totalBytes = entry.sizeBytes;
    this.#members = members;
    this.startedMs = files.environment.clock.monotonicMs();
    files.emitGrouped(eventIds.fileOpened, members);
  }

  protected abstract close(): void;

  /** Lists the download among the running transfers until it ends. */
  show(): void {
    if (!this.#isOver) this.files.environment.transfers.enter(this);
  }

  /** @param fault undefined for a complete download */
  end(fault?: 'client-gone' | 'failed'): void {
    if (!this.#closeOnce()) return;
    const data = transferData((this.files.environment.clock.monotonicMs() - this.startedMs) / 1000, this.bytes, 'read');
    if (fault === 'client-gone') this.files.emitGrouped(eventIds.clientWentAway, this.#members, data);
    if (fault) {
      const details = fault === 'client-gone' ? clientGoneDetails : 'The file could not be read.';
      this.files.emitGrouped(eventIds.downloadFailed, this.#members, { ...data, details });
    } else {
      this.files.emitGrouped(eventIds.fileDownloaded, this.#members, data);
    }
  }

  /** Ends the download without further events, because the content was not needed (304, 416). */
  release(): void {
    this.#closeOnce();
  }

  #closeOnce(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.files.environment.transfers.leave(this);
    this.close();
    return true;
  }
}

/** A download from an opened file. It is listed among the running transfers. */
export class OpenDownload extends Reading {
  readonly fd: number;
  readonly kept = undefined;

  constructor(files: AccountPaths, path: VirtualPath, { fd, stats }: OpenedFile) {
    super(files, path, toEntry(baseName(path), stats), files.pathMembers(path));
    this.fd = fd;
    this.show();
  }

  protected close(): void {
    void closeFile(this.fd, this.entry.sizeBytes);
  }
}

/** A download of a small file from memory. Most are sent immediately, so they are listed as running only after the sender calls `show`. */
export class KeptDownload extends Reading {
  readonly kept: KeptFile;

  constructor(files: AccountPaths, path: VirtualPath, kept: KeptFile) {
    const { entry } = kept;
    const name = baseName(path);
    super(files, path, name === entry.name ? entry : { ...entry, name }, membersFor(files, path, kept));
    this.kept = kept;
  }

  protected close(): void {}
}

export type FileDownload = OpenDownload | KeptDownload;

function membersFor(files: AccountPaths, path: VirtualPath, kept: KeptFile): SharedMembers {
  const { mounts } = files;
  const { told } = kept;
  if (told?.mounts === mounts && told.path === path) return told.members;
  const members = files.pathMembers(path);
  kept.told = { mounts, path, members };
  return members;
}

/** Event data of transfers (docs/spec/events.md#file-events): duration in seconds, bytes, and bytes per second. */
export function transferData(durationS: number, bytes: number, direction: 'read' | 'write'): Record<string, number> {
  const duration = Math.round(durationS * 1e6) / 1e6;
  const speed = Math.round(bytes / Math.max(durationS, 1e-6));
  // Computed property names would cost more than all other event data.
  return direction === 'read' ? { duration, total_read: bytes, read_speed: speed } : { duration, total_write: bytes, write_speed: speed };
}
