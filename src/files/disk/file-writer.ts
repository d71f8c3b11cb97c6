import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  renameSync,
  type Stats,
  unlinkSync,
  writevSync,
} from 'node:fs';
import {
  canClone,
  cloneFile,
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
import type { HiddenContent, Leave } from '../inspections/holding.ts';
import { type QuotaReservation, unlimited } from '../quota.ts';
import { type KeptReplaced, whileKept } from '../trash/trash.ts';
import { EarlySync } from './early-sync.ts';
import { type Durability, renameMember, syncOpenedFolder } from './folder-sync.ts';
import { closeFile, freeInBackground } from './freeing.ts';
import { freeName, NameIsTaken, type NameRules, nameTaken, renameToFree } from './new-names.ts';
import { folderMoved, lstatOrUndefined, type WriteTarget } from './opened.ts';
import type { Finished, FinishOptions, KeptContent, Put, RandomWriter } from './random-writer.ts';
import { keepOwnerAndMode, unrecorded } from './random-writer.ts';
import type { Retention } from './retention.ts';
import { asServiceError } from './system-errors.ts';

/** Files up to this size are written synchronously, because a write into the page cache costs far less than the thread pool. */
const atOnceBytes = 128 * 1024;

/**
 * Writes a file so that its name always has either the old or the complete new content. The content is written into a hidden file beside
 * the target. This hidden file is synced and renamed; then the folder is synced. The caller ends the writer with `finish`, `discard`,
 * `suspend` or `leave`.
 */
export class FileWriter implements RandomWriter {
  readonly isInPlace = false;
  #target: WriteTarget;
  readonly #temporaries: Pick<FilesEnvironment['temporaries'], 'add' | 'delete' | 'giveBack'>;
  readonly #pathMutex: FilesEnvironment['pathMutex'];
  readonly #retention: Retention;
  readonly #temporaryName: string;
  readonly #onSynced: ((sizeBytes: number) => void) | undefined;
  #isNameSynced: boolean;
  readonly fd: number;
  #isOpen = true;
  /** Position after the last written byte. */
  sizeBytes = 0;
  readonly #early: EarlySync;

  /**
   * @param newMode permission bits of a new file, before the umask
   * @param kept content of earlier requests that this writer continues
   */
  constructor(
    target: WriteTarget,
    { temporaries, pathMutex, retention, clock }: Pick<FilesEnvironment, 'temporaries' | 'pathMutex' | 'retention' | 'clock'>,
    newMode = 0o666,
    kept?: KeptContent,
  ) {
    this.#target = target;
    this.#temporaries = kept ? unrecorded : temporaries;
    this.#pathMutex = pathMutex;
    this.#retention = retention;
    this.#onSynced = kept?.onSynced;
    // The hidden file of an upload without content may not exist yet, so the file is created if necessary.
    const isNew = kept === undefined || kept.sizeBytes === 0;
    this.#isNameSynced = !isNew;
    let fd: number | undefined;
    try {
      this.#temporaryName = kept?.name ?? temporaries.take(target.parent.realPath);
      fd = openSync(
        target.parent.member(this.#temporaryName),
        constants.O_RDWR | constants.O_NOFOLLOW | (isNew ? constants.O_CREAT : 0) | (kept ? 0 : constants.O_EXCL),
        target.existing ? target.existing.mode & 0o777 : newMode,
      );
      this.fd = fd;
      this.#early = new EarlySync(this.fd, clock, kept && ((sizeBytes) => this.#confirm(sizeBytes)));
      if (kept) this.#cutTo(kept.sizeBytes);
      if (target.existing) keepOwnerAndMode(this.fd, target.existing);
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      if (fd !== undefined && !kept) this.#removeTemporary();
      else this.#temporaries.delete(this.#temporaryRealPath);
      target.parent.close();
      throw asServiceError(error);
    }
  }

  // Bytes beyond the size were never confirmed, so they are cut off. A shorter file has lost confirmed bytes, which is an error.
  #cutTo(sizeBytes: number): void {
    const stats = fstatSync(this.fd);
    if (!stats.isFile() || stats.size < sizeBytes) throw new ServiceError('not-found', 'The content of the upload is gone.');
    if (stats.size > sizeBytes) ftruncateSync(this.fd, sizeBytes);
    this.sizeBytes = sizeBytes;
  }

  get #temporaryRealPath(): string {
    return `${this.#target.parent.realPath}/${this.#temporaryName}`;
  }

  /** Whether the folder was removed. If so, the file cannot be finished. */
  get isFolderGone(): boolean {
    return this.#isOpen && this.#target.parent.isGone;
  }

  async write(chunks: readonly Buffer[]): Promise<void> {
    await this.writeAt(chunks, this.sizeBytes);
  }

  /** Fills the new file with a copy-on-write clone of an opened file, if the file system supports that. @returns whether it was cloned */
  async clone(
    source: { fd: number; stats: Stats },
    temporaries: Pick<FilesEnvironment['temporaries'], 'take' | 'giveBack'>,
  ): Promise<boolean> {
    const { parent } = this.#target;
    const { dev, mode } = fstatSync(this.fd);
    if (dev !== source.stats.dev) return false;
    const scratch = temporaries.take(parent.realPath);
    try {
      if (!(await canClone(source.fd, dev, parent.member(scratch)))) return false;
      await cloneFile(source.fd, parent.member(this.#temporaryName));
      // A clone has the mode of its source.
      fchmodSync(this.fd, mode & 0o7777);
    } catch (error) {
      throw asServiceError(error);
    } finally {
      temporaries.giveBack(parent.realPath, scratch);
    }
    this.sizeBytes = fstatSync(this.fd).size;
    return true;
  }

  /** Writes chunks at a position with one gathered write. If the kernel wrote less, writes the rest in the same way. */
  async writeAt(chunks: readonly Buffer[], position: number): Promise<void> {
    let rest = [...chunks];
    let at = position;
    const isSmall = position + totalBytes(rest) <= atOnceBytes;
    try {
      while (rest.length > 0) {
        const bytesWritten = isSmall ? writevSync(this.fd, rest, at) : (await writevAsync(this.fd, rest, at)).bytesWritten;
        at += bytesWritten;
        this.sizeBytes = Math.max(this.sizeBytes, at);
        this.#early.wrote(bytesWritten, this.sizeBytes);
        rest = dropWritten(rest, bytesWritten);
      }
      if (this.#early.failure !== undefined) throw this.#early.failure;
    } catch (error) {
      throw asServiceError(error);
    }
  }

  async #confirm(syncedBytes: number): Promise<void> {
    await this.#syncName();
    this.#onSynced?.(syncedBytes);
  }

  // Synced content is lost in a power cut unless the name of its file is on disk, too.
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
    // A running sync covers only a part of the content. The sync of the rest need not wait for the running one.
    const rest = fdatasyncAsync(this.fd).catch((error) => {
      this.#early.failure ??= error;
    });
    await Promise.all([this.#early.current, rest]);
    if (this.#early.failure !== undefined) throw asServiceError(this.#early.failure);
  }

  /** Changes the final name of the file. @param target the writer closes its `parent`, even if this method throws */
  retarget(target: WriteTarget): void {
    const old = this.#target;
    try {
      if (old.parent.realPath !== target.parent.realPath) {
        this.#temporaries.add(`${target.parent.realPath}/${this.#temporaryName}`);
        renameSync(old.parent.member(this.#temporaryName), target.parent.member(this.#temporaryName));
        this.#temporaries.delete(this.#temporaryRealPath);
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
   * Renames the temporary file to its final name. Content and name are on disk when the promise resolves.
   *
   * @param durability receives the fault if the disk failed after the rename
   * @returns the new file's entry, and whether it replaced a file
   * @throws ServiceError, and the errors of `options.gate`. After the error `held`, the writer has ended; the content has a new hidden name
   */
  async finish(durability: Durability, options: FinishOptions): Promise<Finished> {
    const { parent, name: wanted } = this.#target;
    let release: (() => void) | undefined;
    try {
      await this.#early.end();
      if (this.#early.failure !== undefined) throw this.#early.failure;
      if (options.modifiedMs !== undefined) {
        const time = toSeconds(options.modifiedMs);
        await futimesAsync(this.fd, options.accessedMs === undefined ? time : toSeconds(options.accessedMs), time);
      }
      await fsyncAsync(this.fd).catch((error) => {
        this.#early.failure = error;
        throw error;
      });
      const leave = options.gate && (await options.gate(this.#hidden(options.reservation)));
      await options.requireUnlocked();
      const { retainDays } = options.rules;
      if (retainDays > 0) release = await this.#retention.retain(parent.member(this.#temporaryName), retainDays);
      let put: Put | undefined;
      for (let name = wanted; !put; ) {
        const entry = toEntry(name, fstatSync(this.fd));
        put = await this.#pathMutex.runExclusive([`${parent.realPath}/${name}`], () => this.#putInPlace(entry, options, leave));
        if (put) continue;
        name = this.#otherName(options.rules);
        await options.onNumbered?.(name);
      }
      this.#isOpen = false;
      if (put.kept) await put.kept.settle(durability);
      await durability.syncFolder(parent.fd);
      if (leave) await leave.given();
      if (put.freed) await put.freed;
      const { entry, isReplacement, kept } = put;
      return { entry, isReplacement, trashed: kept && true, numberedName: entry.name === wanted ? undefined : entry.name };
    } catch (error) {
      if (this.#isOpen) release?.();
      if (systemErrorCode(error) === 'ENOENT')
        throw new ServiceError('parent-missing', 'The parent folder was removed meanwhile.', { cause: error });
      throw asServiceError(error);
    } finally {
      if (!this.#isOpen) void this.#close();
    }
  }

  #hidden(reservation: QuotaReservation | undefined): HiddenContent {
    const { parent, name } = this.#target;
    const { size: sizeBytes, mtimeMs: modifiedMs } = fstatSync(this.fd);
    return {
      folder: () => parent.currentPath(),
      hiddenName: this.#temporaryName,
      name,
      sizeBytes,
      modifiedMs,
      current: () => this.#currentEntry(),
      keep: async (kept) => {
        await renameMember(parent, this.#temporaryName, kept);
        this.#temporaries.giveBack(parent.realPath, this.#temporaryName);
        this.#isOpen = false;
        await reservation?.keep(sizeBytes);
      },
    };
  }

  /** @returns undefined if the name belongs to a file that must not be replaced */
  async #putInPlace(
    entry: Entry,
    { verify, reservation = unlimited, rules, keep }: FinishOptions,
    leave: Leave | undefined,
  ): Promise<Put | undefined> {
    const { parent } = this.#target;
    const member = parent.member(entry.name);
    let temporary = parent.member(this.#temporaryName);
    const before = lstatOrUndefined(member);
    const isReplacement = before?.isFile() === true;
    const mayReplace = () => rules.mayReplace && this.#retention.untilMs(member) === undefined;
    // `before` may be outdated when `put` runs, because the quota and the trash may take time first.
    let mayHaveChanged = reservation !== unlimited;
    const put = (kept: KeptReplaced | undefined) => () => {
      if (parent.isGone) throw new ServiceError('parent-missing', 'The parent folder was removed meanwhile.');
      verify?.(this.#currentEntry());
      if (leave) temporary = `${leave.recheck(entry.name)}/${this.#temporaryName}`;
      const current = mayHaveChanged ? lstatOrUndefined(member) : before;
      if (current && !mayReplace()) throw new NameIsTaken();
      const replace = () => {
        kept?.take();
        renameSync(temporary, member);
      };
      if (current) return freeInBackground(member, current, replace);
      if ((!verify && rules.mayReplace) || !renameToFree(temporary, member)) {
        if (!rules.mayReplace) throw new NameIsTaken();
        verify?.(this.#currentEntry());
        renameSync(temporary, member);
      }
      return { freed: undefined };
    };
    try {
      const prepared = isReplacement && mayReplace() ? await keep?.(parent, entry.name, before) : undefined;
      mayHaveChanged ||= prepared !== undefined;
      const replacedBytes = isReplacement ? before.size : 0;
      const commit = (kept: KeptReplaced | undefined) => reservation.commit(entry.sizeBytes, kept ? 0 : replacedBytes, put(kept));
      const kept = prepared && (await whileKept(prepared, commit));
      const { freed } = kept ?? (await commit(undefined));
      this.#temporaries.giveBack(parent.realPath, this.#temporaryName);
      return { entry, freed, isReplacement, kept: kept?.kept };
    } catch (error) {
      if (error instanceof NameIsTaken) return undefined;
      if (leave && systemErrorCode(error) === 'ENOENT') throw folderMoved();
      throw error;
    }
  }

  /** A free numbered name, for use instead of the name that is taken. @throws ServiceError `name-taken`, `retained` */
  #otherName({ ifTaken, mayCreate, mayReplace }: NameRules): string {
    const { parent, name } = this.#target;
    const free = ifTaken === 'number' ? freeName(parent, name) : undefined;
    if (free !== undefined && mayCreate(free)) return free;
    if (mayReplace) this.#retention.requireFree(parent.member(name));
    throw nameTaken();
  }

  #currentEntry(): Entry | undefined {
    const current = lstatOrUndefined(this.#target.parent.member(this.#target.name));
    return current && !current.isSymbolicLink() ? toEntry(this.#target.name, current) : undefined;
  }

  /** Syncs the temporary file and ends the writer. Another writer can continue the file. Does nothing if the writer has ended. */
  async suspend(): Promise<void> {
    if (!this.#isOpen) return;
    try {
      await this.#early.end();
      await this.sync();
      await this.#syncName();
    } catch (error) {
      throw asServiceError(error);
    } finally {
      this.#isOpen = false;
      void this.#close();
    }
  }

  /** Closes the temporary file without syncing or removing it. Does nothing if the writer has ended. */
  async leave(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#early.end();
    await this.#close();
  }

  /** Removes the temporary file. An existing target file is unchanged. Does nothing if the writer has ended. */
  async discard(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#early.end();
    this.#removeTemporary();
    await this.#close();
  }

  /** Removes the temporary file. If that fails, the file stays recorded, so that the next start of the service removes it. */
  #removeTemporary(): void {
    try {
      unlinkSync(this.#target.parent.member(this.#temporaryName));
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT') return;
    }
    this.#temporaries.delete(this.#temporaryRealPath);
  }

  /** @returns a promise that resolves when the space of a removed file is free */
  #close(): Promise<void> | undefined {
    this.#target.parent.close();
    return closeFile(this.fd, this.sizeBytes);
  }
}
