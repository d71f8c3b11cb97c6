import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  openSync,
  renameSync,
  type Stats,
  unlinkSync,
  writevSync,
} from 'node:fs';
import { fdatasyncAsync, fsyncAsync, ftruncateAsync, futimesAsync, toSeconds, writevAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { type Entry, toEntry } from '../entry.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { type QuotaReservation, unlimited } from '../quota.ts';
import { type Durability, syncOpenedFolder } from './folder-sync.ts';
import { closeFile, freeInBackground } from './freeing.ts';
import { lstatOrUndefined, type WriteTarget } from './opened.ts';
import { asServiceError } from './system-errors.ts';

/** How a written file gets its name. */
export interface FinishOptions {
  /** Refuses by throwing what a lock on the path forbids. Writing may take hours: one that somebody took meanwhile counts, too. */
  requireUnlocked: () => Promise<void>;
  /** Modification time to set, Unix time in milliseconds. */
  modifiedMs?: number | undefined;
  /** Access time to set with it; else it is the same. */
  accessedMs?: number | undefined;
  /** Runs in the turn of the rename, with what the name means at that moment; throwing keeps the old file. */
  verify?: ((current: Entry | undefined) => void) | undefined;
  /** Room under a quota; ended by `finish` when that succeeds. */
  reservation?: QuotaReservation;
}

/** Writes a file piece by piece, wherever the pieces belong. Ended with `finish` or `discard`. */
export interface RandomWriter {
  /** Whether the file itself is written, and not one that takes its place. */
  readonly isInPlace: boolean;
  /** For reading what was written. */
  readonly fd: number;
  writeAt(chunks: readonly Buffer[], position: number): Promise<void>;
  /** Cuts or lengthens what was written; what is added is zeros. */
  truncate(sizeBytes: number): Promise<void>;
  /** What is there so far goes to the disk. Fails also for what could not be written before. */
  sync(): Promise<void>;
  /** @param durability has the fault of a disk that failed once the file had its name */
  finish(durability: Durability, options?: FinishOptions): Promise<{ entry: Entry; isReplacement: boolean }>;
  /** @param reservation room under a quota, for what stays */
  discard(reservation?: QuotaReservation): Promise<void>;
}

/** A file is written synchronously up to this size, into the cache of the system: the thread pool would cost far more. */
const atOnceBytes = 128 * 1024;

/** So much of a large file is sent to the disk at once while the rest still comes in. */
const syncEveryBytes = 32 * 1024 * 1024;

/**
 * Of content that may come in many pieces, the first so soon, and then twice as much each time: each piece ends on the disk. More of them in
 * a piece of 8 MiB cost more than the end has to wait: each is a commit of the file system, for which writing stops.
 */
const firstSyncBytes = 4 * 1024 * 1024;

/** Whoever wants to know what is on disk is told again when so much more is. */
const tellEveryBytes = 16 * 1024 * 1024;

/**
 * Writes a file so that its name means either the old content or the whole new one: into a hidden temporary
 * file beside the target, synced, then renamed, then the folder synced. Whoever creates a writer ends it with
 * `finish` or `discard`.
 */
export class FileWriter implements RandomWriter {
  readonly isInPlace = false;
  #target: WriteTarget;
  readonly #temporaries: Pick<FilesEnvironment['temporaries'], 'add' | 'delete' | 'giveBack'>;
  readonly #pathMutex: FilesEnvironment['pathMutex'];
  readonly #temporaryName: string;
  readonly #onSynced: ((sizeBytes: number) => void) | undefined;
  #isNameSynced: boolean;
  readonly #fd: number;
  #state: 'open' | 'ended' = 'open';
  /** Where the written part ends. */
  sizeBytes = 0;
  #unsyncedBytes = 0;
  #syncAtBytes: number;
  #toldBytes: number;
  #syncing: Promise<void> | undefined;
  #syncFailure: unknown;

  /**
   * @param newMode permission bits of a file that is new, before those that the process takes away (umask)
   * @param kept the content that earlier requests left, to go on behind it
   */
  constructor(
    target: WriteTarget,
    { temporaries, pathMutex }: Pick<FilesEnvironment, 'temporaries' | 'pathMutex'>,
    newMode = 0o666,
    kept?: ContentToGoOn,
  ) {
    this.#target = target;
    this.#temporaries = kept ? unnoted : temporaries;
    this.#pathMutex = pathMutex;
    this.#temporaryName = kept?.name ?? temporaries.take(target.parent.realPath);
    this.#onSynced = kept?.onSynced;
    this.#syncAtBytes = kept ? firstSyncBytes : syncEveryBytes;
    this.#toldBytes = kept?.sizeBytes ?? 0;
    // Of an upload that nothing has come of yet there may be no file.
    const isNew = kept === undefined || kept.sizeBytes === 0;
    this.#isNameSynced = !isNew;
    try {
      this.#fd = openSync(
        target.parent.member(this.#temporaryName),
        constants.O_RDWR | constants.O_NOFOLLOW | (isNew ? constants.O_CREAT : 0) | (kept ? 0 : constants.O_EXCL),
        target.existing ? target.existing.mode & 0o777 : newMode,
      );
      if (kept) this.#cutTo(kept.sizeBytes);
      if (target.existing) keepOwnerAndMode(this.#fd, target.existing);
    } catch (error) {
      this.#temporaries.delete(this.#temporaryRealPath);
      target.parent.close();
      throw asServiceError(error);
    }
  }

  // What lies behind was never confirmed; what does not reach so far has lost what was.
  #cutTo(sizeBytes: number): void {
    const stats = fstatSync(this.#fd);
    if (!stats.isFile() || stats.size < sizeBytes) {
      closeSync(this.#fd);
      throw new ServiceError('not-found', 'The content of the upload is gone.');
    }
    if (stats.size > sizeBytes) ftruncateSync(this.#fd, sizeBytes);
    this.sizeBytes = sizeBytes;
  }

  get #temporaryRealPath(): string {
    return `${this.#target.parent.realPath}/${this.#temporaryName}`;
  }

  /** For copying by descriptor (copy_file_range and the like). */
  get fd(): number {
    return this.#fd;
  }

  /** Whether the folder that it is in has no name any more: it cannot be finished then. */
  get isFolderGone(): boolean {
    return this.#state === 'open' && fstatSync(this.#target.parent.fd).nlink === 0;
  }

  /** Appends chunks. */
  async write(chunks: readonly Buffer[]): Promise<void> {
    await this.writeAt(chunks, this.sizeBytes);
  }

  /** Puts chunks at a place of the file with one gathered write, repeated when the kernel took less. */
  async writeAt(chunks: readonly Buffer[], position: number): Promise<void> {
    let rest = [...chunks];
    let at = position;
    const isSmall = position + bytesOf(rest) <= atOnceBytes;
    try {
      while (rest.length > 0) {
        let { bytesWritten } = isSmall ? { bytesWritten: writevSync(this.#fd, rest, at) } : await writevAsync(this.#fd, rest, at);
        at += bytesWritten;
        this.#unsyncedBytes += bytesWritten;
        this.sizeBytes = Math.max(this.sizeBytes, at);
        while (rest.length > 0 && bytesWritten >= (rest[0] as Buffer).length) bytesWritten -= (rest.shift() as Buffer).length;
        if (rest.length > 0 && bytesWritten > 0) rest = [(rest[0] as Buffer).subarray(bytesWritten), ...rest.slice(1)];
      }
      this.#syncEarly();
      // Linux tells of a failed sync once: it must not get lost.
      if (this.#syncFailure !== undefined) throw this.#syncFailure;
    } catch (error) {
      throw asServiceError(error);
    }
  }

  // While a large file still comes in, what is there goes to the disk, so that the end has little to wait for.
  #syncEarly(): void {
    if (this.#syncing || this.#unsyncedBytes < this.#syncAtBytes) return;
    this.#unsyncedBytes = 0;
    this.#syncAtBytes = Math.min(2 * this.#syncAtBytes, syncEveryBytes);
    const syncedBytes = this.sizeBytes;
    this.#syncing = fdatasyncAsync(this.#fd)
      .then(() => this.#confirm(syncedBytes))
      .catch((error) => {
        this.#syncFailure ??= error;
      })
      .finally(() => {
        this.#syncing = undefined;
      });
  }

  // Content is worth nothing without its name.
  async #confirm(syncedBytes: number): Promise<void> {
    if (!this.#onSynced || syncedBytes - this.#toldBytes < tellEveryBytes) return;
    this.#toldBytes = syncedBytes;
    await this.#syncName();
    this.#onSynced(syncedBytes);
  }

  async #syncName(): Promise<void> {
    if (this.#isNameSynced) return;
    await syncOpenedFolder(this.#target.parent.fd);
    this.#isNameSynced = true;
  }

  async truncate(sizeBytes: number): Promise<void> {
    try {
      await ftruncateAsync(this.#fd, sizeBytes);
      this.sizeBytes = sizeBytes;
    } catch (error) {
      throw asServiceError(error);
    }
  }

  async sync(): Promise<void> {
    // What is under way covers a part; the rest need not wait for it.
    const rest = fdatasyncAsync(this.#fd).catch((error) => {
      this.#syncFailure ??= error;
    });
    await Promise.all([this.#syncing, rest]);
    if (this.#syncFailure !== undefined) throw asServiceError(this.#syncFailure);
  }

  /**
   * Gives the file another name to get in the end.
   *
   * @param target taken over in any case: closed here
   */
  retarget(target: WriteTarget): void {
    const old = this.#target;
    try {
      if (old.parent.realPath !== target.parent.realPath) {
        const oldPath = this.#temporaryRealPath;
        this.#temporaries.add(`${target.parent.realPath}/${this.#temporaryName}`);
        renameSync(old.parent.member(this.#temporaryName), target.parent.member(this.#temporaryName));
        this.#temporaries.delete(oldPath);
      }
    } catch (error) {
      this.#temporaries.delete(`${target.parent.realPath}/${this.#temporaryName}`);
      target.parent.close();
      throw asServiceError(error);
    }
    this.#target = target;
    old.parent.close();
  }

  /**
   * Makes the written content the file's content, on disk when the promise resolves.
   *
   * @param durability has the fault of a disk that failed once the file had its name
   * @returns the new file's entry, and whether there was a file of its name
   */
  async finish(durability: Durability, options: FinishOptions): Promise<{ entry: Entry; isReplacement: boolean }> {
    const { parent, name } = this.#target;
    try {
      await this.#syncing;
      if (this.#syncFailure !== undefined) throw this.#syncFailure;
      if (options.modifiedMs !== undefined) {
        const time = toSeconds(options.modifiedMs);
        await futimesAsync(this.#fd, options.accessedMs === undefined ? time : toSeconds(options.accessedMs), time);
      }
      await fsyncAsync(this.#fd).catch((error) => {
        this.#syncFailure = error;
        throw error;
      });
      const entry = toEntry(name, fstatSync(this.#fd));
      await options.requireUnlocked();
      const { freed, isReplacement } = await this.#pathMutex.runExclusive([`${parent.realPath}/${name}`], () =>
        this.#putInPlace(entry, options),
      );
      this.#state = 'ended';
      await durability.syncFolder(parent.fd);
      await freed;
      return { entry, isReplacement };
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT')
        throw new ServiceError('parent-missing', 'The parent folder was removed meanwhile.', { cause: error });
      throw asServiceError(error);
    } finally {
      if (this.#state === 'ended') void this.#close();
    }
  }

  async #putInPlace(
    { sizeBytes }: Entry,
    { verify, reservation = unlimited }: FinishOptions,
  ): Promise<{ freed: Promise<void> | undefined; isReplacement: boolean }> {
    const { parent, name } = this.#target;
    const current = lstatOrUndefined(parent.member(name));
    const isReplacement = current?.isFile() === true;
    const { freed } = await reservation.commit(sizeBytes, isReplacement ? current.size : 0, () => {
      verify?.(this.#currentEntry());
      const rename = () => {
        renameSync(parent.member(this.#temporaryName), parent.member(name));
        this.#temporaries.giveBack(parent.realPath, this.#temporaryName);
      };
      if (current) return freeInBackground(parent.member(name), current, rename);
      if (!verify || !this.#linkAsNew()) {
        verify?.(this.#currentEntry());
        rename();
      }
      return { freed: undefined };
    });
    return { freed, isReplacement };
  }

  // Of several nodes that create a name under a condition, one succeeds: link(2) fails where there is a name already, rename does not.
  #linkAsNew(): boolean {
    const { parent, name } = this.#target;
    try {
      linkSync(parent.member(this.#temporaryName), parent.member(name));
    } catch {
      // The name is there by now, or the file system has no hard links.
      return false;
    }
    try {
      unlinkSync(parent.member(this.#temporaryName));
      this.#temporaries.giveBack(parent.realPath, this.#temporaryName);
    } catch {
      // The next start removes it.
    }
    return true;
  }

  #currentEntry(): Entry | undefined {
    const current = lstatOrUndefined(this.#target.parent.member(this.#target.name));
    return current && !current.isSymbolicLink() ? toEntry(this.#target.name, current) : undefined;
  }

  /** Ends it for now: the temporary file stays, all of it on disk, for another one to go on with. */
  async suspend(): Promise<void> {
    try {
      await this.sync();
      await this.#syncName();
    } catch (error) {
      throw asServiceError(error);
    } finally {
      this.#state = 'ended';
      void this.#close();
    }
  }

  /** Closes it, and touches nothing more. Does nothing after it has ended otherwise. */
  async leave(): Promise<void> {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    await this.#syncing;
    await this.#close();
  }

  /** Removes the temporary file; the old file stays as it was. Does nothing after `finish` succeeded. */
  async discard(): Promise<void> {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    await this.#syncing;
    try {
      unlinkSync(this.#target.parent.member(this.#temporaryName));
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT') throw asServiceError(error);
    } finally {
      this.#temporaries.delete(this.#temporaryRealPath);
      await this.#close();
    }
  }

  /** @returns resolves once the space of a file that has no name any more is free */
  #close(): Promise<void> | undefined {
    this.#target.parent.close();
    return closeFile(this.#fd, this.sizeBytes);
  }
}

/** Content that several writers write one after the other. */
interface ContentToGoOn {
  /** Name of the hidden file, beside the target. */
  name: string;
  /** So much of it counts. */
  sizeBytes: number;
  /** Told when so much is on disk, while more still comes. */
  onSynced: (sizeBytes: number) => void;
}

/** Content that is to outlive the process is noted elsewhere. */
const unnoted = { add() {}, delete() {}, giveBack() {} };

function bytesOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0);
}

function keepOwnerAndMode(fd: number, existing: Stats): void {
  const created = fstatSync(fd);
  if ((created.mode & 0o777) !== (existing.mode & 0o777)) fchmodSync(fd, existing.mode & 0o777);
  if (created.uid === existing.uid && created.gid === existing.gid) return;
  try {
    fchownSync(fd, existing.uid, existing.gid);
  } catch (error) {
    // Only a privileged service may give files away; without the privilege the file belongs to the service.
    if (systemErrorCode(error) !== 'EPERM') throw error;
  }
}
