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
import {
  dropWritten,
  fdatasyncAsync,
  fsyncAsync,
  ftruncateAsync,
  futimesAsync,
  toSeconds,
  totalBytes,
  writevAsync,
} from '../../lib/disk/descriptors.ts';
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
  /** Throws when a lock forbids the change; locks that were taken while the file was written count, too. */
  requireUnlocked: () => Promise<void>;
  /** Modification time to set, Unix time in milliseconds. */
  modifiedMs?: number | undefined;
  /** Access time to set with it; by default the same. */
  accessedMs?: number | undefined;
  /** Runs under the mutex of the rename, with the current file of that name; throwing keeps that file. */
  verify?: ((current: Entry | undefined) => void) | undefined;
  /** Ended by `finish` when that succeeds. */
  reservation?: QuotaReservation;
}

/** Writes pieces of a file in any order. Ends with `finish` or `discard`. */
export interface RandomWriter {
  /** Whether it writes into the file itself, and not into one that replaces it. */
  readonly isInPlace: boolean;
  readonly fd: number;
  writeAt(chunks: readonly Buffer[], position: number): Promise<void>;
  /** Cuts the file, or lengthens it with zeros. */
  truncate(sizeBytes: number): Promise<void>;
  /** Has all that was written on disk. Fails also for what could not be written before. */
  sync(): Promise<void>;
  /** @param durability gets the fault of a disk that failed after the file had its name */
  finish(durability: Durability, options?: FinishOptions): Promise<{ entry: Entry; isReplacement: boolean }>;
  /** @param reservation counts what stays */
  discard(reservation?: QuotaReservation): Promise<void>;
}

/** Files up to this size are written synchronously, into the page cache: the thread pool would cost far more. */
const atOnceBytes = 128 * 1024;

/** A large file is synced after each such part while the rest still comes in. */
const syncEveryBytes = 32 * 1024 * 1024;

/**
 * The first such part of content that may come in many pieces; each further one is twice as large. More syncs would slow each piece of 8 MiB
 * down by more than its end has to wait: writing stops during each commit of the file system.
 */
const firstSyncBytes = 4 * 1024 * 1024;

/** Synced content is reported after this many more bytes. */
const reportEveryBytes = 16 * 1024 * 1024;

/**
 * Writes a file so that its name means either the old content or the whole new one: into a hidden temporary file beside the target,
 * synced, then renamed, then the folder synced. Ends with `finish`, `discard`, `suspend` or `leave`.
 */
export class FileWriter implements RandomWriter {
  readonly isInPlace = false;
  #target: WriteTarget;
  readonly #temporaries: Pick<FilesEnvironment['temporaries'], 'add' | 'delete' | 'giveBack'>;
  readonly #pathMutex: FilesEnvironment['pathMutex'];
  readonly #temporaryName: string;
  readonly #onSynced: ((sizeBytes: number) => void) | undefined;
  #isNameSynced: boolean;
  readonly fd: number;
  #isOpen = true;
  /** End of the written part. */
  sizeBytes = 0;
  #unsyncedBytes = 0;
  #syncAtBytes: number;
  #reportedBytes: number;
  #syncing: Promise<void> | undefined;
  #syncFailure: unknown;

  /**
   * @param newMode permission bits of a new file, before the umask
   * @param kept content of earlier requests, to be continued
   */
  constructor(
    target: WriteTarget,
    { temporaries, pathMutex }: Pick<FilesEnvironment, 'temporaries' | 'pathMutex'>,
    newMode = 0o666,
    kept?: KeptContent,
  ) {
    this.#target = target;
    this.#temporaries = kept ? unrecorded : temporaries;
    this.#pathMutex = pathMutex;
    this.#temporaryName = kept?.name ?? temporaries.take(target.parent.realPath);
    this.#onSynced = kept?.onSynced;
    this.#syncAtBytes = kept ? firstSyncBytes : syncEveryBytes;
    this.#reportedBytes = kept?.sizeBytes ?? 0;
    // An upload that received nothing may have no file.
    const isNew = kept === undefined || kept.sizeBytes === 0;
    this.#isNameSynced = !isNew;
    try {
      this.fd = openSync(
        target.parent.member(this.#temporaryName),
        constants.O_RDWR | constants.O_NOFOLLOW | (isNew ? constants.O_CREAT : 0) | (kept ? 0 : constants.O_EXCL),
        target.existing ? target.existing.mode & 0o777 : newMode,
      );
      if (kept) this.#cutTo(kept.sizeBytes);
      if (target.existing) keepOwnerAndMode(this.fd, target.existing);
    } catch (error) {
      this.#temporaries.delete(this.#temporaryRealPath);
      target.parent.close();
      throw asServiceError(error);
    }
  }

  // Bytes beyond the size were never confirmed; a shorter file has lost confirmed bytes.
  #cutTo(sizeBytes: number): void {
    const stats = fstatSync(this.fd);
    if (!stats.isFile() || stats.size < sizeBytes) {
      closeSync(this.fd);
      throw new ServiceError('not-found', 'The content of the upload is gone.');
    }
    if (stats.size > sizeBytes) ftruncateSync(this.fd, sizeBytes);
    this.sizeBytes = sizeBytes;
  }

  get #temporaryRealPath(): string {
    return `${this.#target.parent.realPath}/${this.#temporaryName}`;
  }

  /** Whether the folder was removed, so that the file cannot be finished. */
  get isFolderGone(): boolean {
    return this.#isOpen && fstatSync(this.#target.parent.fd).nlink === 0;
  }

  /** Appends chunks. */
  async write(chunks: readonly Buffer[]): Promise<void> {
    await this.writeAt(chunks, this.sizeBytes);
  }

  /** Writes chunks at a position with one gathered write, repeated when the kernel took less. */
  async writeAt(chunks: readonly Buffer[], position: number): Promise<void> {
    let rest = [...chunks];
    let at = position;
    const isSmall = position + totalBytes(rest) <= atOnceBytes;
    try {
      while (rest.length > 0) {
        const bytesWritten = isSmall ? writevSync(this.fd, rest, at) : (await writevAsync(this.fd, rest, at)).bytesWritten;
        at += bytesWritten;
        this.#unsyncedBytes += bytesWritten;
        this.sizeBytes = Math.max(this.sizeBytes, at);
        rest = dropWritten(rest, bytesWritten);
      }
      this.#syncEarly();
      // Linux reports a failed sync only once.
      if (this.#syncFailure !== undefined) throw this.#syncFailure;
    } catch (error) {
      throw asServiceError(error);
    }
  }

  // Syncs a large file while it still comes in, so that the end has little to wait for.
  #syncEarly(): void {
    if (this.#syncing || this.#unsyncedBytes < this.#syncAtBytes) return;
    this.#unsyncedBytes = 0;
    this.#syncAtBytes = Math.min(2 * this.#syncAtBytes, syncEveryBytes);
    const syncedBytes = this.sizeBytes;
    this.#syncing = fdatasyncAsync(this.fd)
      .then(() => this.#confirm(syncedBytes))
      .catch((error) => {
        this.#syncFailure ??= error;
      })
      .finally(() => {
        this.#syncing = undefined;
      });
  }

  async #confirm(syncedBytes: number): Promise<void> {
    if (!this.#onSynced || syncedBytes - this.#reportedBytes < reportEveryBytes) return;
    this.#reportedBytes = syncedBytes;
    await this.#syncName();
    this.#onSynced(syncedBytes);
  }

  // Content without a name would be lost.
  async #syncName(): Promise<void> {
    if (this.#isNameSynced) return;
    await syncOpenedFolder(this.#target.parent.fd);
    this.#isNameSynced = true;
  }

  async truncate(sizeBytes: number): Promise<void> {
    try {
      await ftruncateAsync(this.fd, sizeBytes);
      this.sizeBytes = sizeBytes;
    } catch (error) {
      throw asServiceError(error);
    }
  }

  async sync(): Promise<void> {
    // A sync under way covers a part; the rest need not wait for it.
    const rest = fdatasyncAsync(this.fd).catch((error) => {
      this.#syncFailure ??= error;
    });
    await Promise.all([this.#syncing, rest]);
    if (this.#syncFailure !== undefined) throw asServiceError(this.#syncFailure);
  }

  /** Changes the name that the file gets in the end. @param target is owned by the writer from now on, also on failure */
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
   * Gives the written content its name, on disk when the promise resolves.
   *
   * @param durability gets the fault of a disk that failed after the file had its name
   * @returns the new file's entry, and whether it replaced a file
   */
  async finish(durability: Durability, options: FinishOptions): Promise<{ entry: Entry; isReplacement: boolean }> {
    const { parent, name } = this.#target;
    try {
      await this.#syncing;
      if (this.#syncFailure !== undefined) throw this.#syncFailure;
      if (options.modifiedMs !== undefined) {
        const time = toSeconds(options.modifiedMs);
        await futimesAsync(this.fd, options.accessedMs === undefined ? time : toSeconds(options.accessedMs), time);
      }
      await fsyncAsync(this.fd).catch((error) => {
        this.#syncFailure = error;
        throw error;
      });
      const entry = toEntry(name, fstatSync(this.fd));
      await options.requireUnlocked();
      const { freed, isReplacement } = await this.#pathMutex.runExclusive([`${parent.realPath}/${name}`], () =>
        this.#putInPlace(entry, options),
      );
      this.#isOpen = false;
      await durability.syncFolder(parent.fd);
      await freed;
      return { entry, isReplacement };
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT')
        throw new ServiceError('parent-missing', 'The parent folder was removed meanwhile.', { cause: error });
      throw asServiceError(error);
    } finally {
      if (!this.#isOpen) void this.#close();
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

  // If several nodes create a name under a condition, one succeeds: link(2) fails for a name that exists, rename(2) does not.
  #linkAsNew(): boolean {
    const { parent, name } = this.#target;
    try {
      linkSync(parent.member(this.#temporaryName), parent.member(name));
    } catch {
      // The name exists by now, or the file system has no hard links.
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

  /** Ends the writer; the temporary file stays, all of it on disk, to be continued by another one. */
  async suspend(): Promise<void> {
    try {
      await this.sync();
      await this.#syncName();
    } catch (error) {
      throw asServiceError(error);
    } finally {
      this.#isOpen = false;
      void this.#close();
    }
  }

  /** Closes the file and leaves it as it is. Does nothing once the writer has ended. */
  async leave(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#syncing;
    await this.#close();
  }

  /** Removes the temporary file; the old file stays as it was. Does nothing once the writer has ended. */
  async discard(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
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

  /** @returns resolves once the space of a file without a name is free */
  #close(): Promise<void> | undefined {
    this.#target.parent.close();
    return closeFile(this.fd, this.sizeBytes);
  }
}

/** Content that several writers write one after the other. */
interface KeptContent {
  /** Name of the hidden file, beside the target. */
  name: string;
  /** The confirmed part of it. */
  sizeBytes: number;
  /** Called with the bytes that are on disk while more still come. */
  onSynced: (sizeBytes: number) => void;
}

/** Content that outlives the process is recorded by the upload store. */
const unrecorded = { add() {}, delete() {}, giveBack() {} };

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
