import { fchmodSync, fstatSync } from 'node:fs';
import { eventIds } from '../../events/event-ids.ts';
import { totalBytes } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { Durability } from '../disk/folder-sync.ts';
import { openWriteTarget } from '../disk/opened.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { type Entry, toEntry, virtualEntry } from '../entry.ts';
import type { Transfer } from '../transfers.ts';
import { WriteQueue } from '../write-queue.ts';
import { transferData } from './file-download.ts';
import { RandomContent, type RandomContentOptions } from './random-content.ts';
import { type AttributeChange, applyToOpened, changeData, checkOwner } from './set-attributes.ts';

/** How a file is opened to be written piece by piece; with `exclusive` there must be none of its name until the end. */
export interface RandomUploadOptions extends RandomContentOptions {
  /** Whether a name is one that the file has only until it is whole. */
  isTemporaryName: (name: string) => boolean;
}

/**
 * A file that is written in any order, and that appears whole when it is committed: writes go to a hidden temporary file. Everything happens
 * in the order in which it was asked for. Ends with `commit` or `abort`.
 */
export class RandomUpload implements Transfer {
  readonly direction = 'upload';
  /** No client announces it. */
  readonly totalBytes = undefined;
  readonly startedMs: number;
  readonly #paths: AccountPaths;
  readonly #options: RandomUploadOptions;
  readonly #content: RandomContent;
  #path: VirtualPath;
  /** Size once all that was asked for is done. */
  #comingBytes: number;
  /** Size that the file would have if it had been new: all that those are told who may not look at it. */
  #ownBytes = 0;
  #ownChangeMs: number;
  #isChanged: boolean;
  #isRemoved = false;
  /** Its descriptors are closed, or will be, and their numbers are then those of other files. */
  #isEnding = false;
  #change: AttributeChange = {};
  #failure: ServiceError | undefined;
  /** Tells the store of unfinished uploads, and the transfers, that this one is over. */
  #leave: () => void = () => {};
  readonly #queue = new WriteQueue((chunks, offset, bytes) => this.#mayFail(() => this.#write(chunks, offset, bytes)));

  private constructor(paths: AccountPaths, path: VirtualPath, options: RandomUploadOptions, content: RandomContent) {
    this.#paths = paths;
    this.#path = path;
    this.#options = options;
    this.#content = content;
    this.#comingBytes = content.sizeBytes;
    this.#isChanged = content.isNew || options.truncate;
    this.startedMs = paths.environment.clock.monotonicMs();
    this.#ownChangeMs = paths.environment.clock.nowMs();
  }

  /**
   * Opens a file to write it; event `uploadStarted`. Permission and locks were checked by `AccountFiles`.
   *
   * @param realPath absolute path, links not resolved
   * @throws ServiceError `not-found`, `parent-missing`, `is-folder`, `exists`, `storage-full`, `too-many-requests`
   */
  static async open(paths: AccountPaths, path: VirtualPath, realPath: string, options: RandomUploadOptions): Promise<RandomUpload> {
    const content = await RandomContent.open(paths, realPath, options);
    const upload = new RandomUpload(paths, path, options, content);
    const { uploads, events, transfers } = paths.environment;
    try {
      const onGone = () => upload.#loseFolder();
      const leaveStore = await uploads.enter({ accountUuid: paths.account.uuid, folder: content.folder, onGone });
      upload.#leave = () => {
        leaveStore();
        transfers.leave(upload);
      };
      transfers.enter(upload);
      events.emitGrouped(paths.draft(eventIds.uploadStarted, path));
      return upload;
    } catch (error) {
      upload.#leave();
      await content.discard();
      throw asServiceError(error);
    }
  }

  /** Where the file will be; another one after `moveTo`. */
  get path(): VirtualPath {
    return this.#path;
  }

  get files(): AccountPaths {
    return this.#paths;
  }

  get bytes(): number {
    return this.#content.writtenBytes;
  }

  /** Whether the file was removed since it was opened: it will not appear. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /**
   * Puts chunks at a place, or at the end of the file. The promise resolves once the file system has them; the chunks must not be changed until then.
   *
   * @throws ServiceError `too-large`, `storage-full`; then the upload cannot be committed any more
   */
  write(place: number | 'end', chunks: readonly Buffer[]): Promise<void> {
    const bytes = totalBytes(chunks);
    const offset = place === 'end' ? this.#comingBytes : place;
    if (bytes > 0) {
      this.#comingBytes = Math.max(this.#comingBytes, offset + bytes);
      this.#noteOwn(place === 'end' ? this.#ownBytes + bytes : Math.max(this.#ownBytes, offset + bytes));
    }
    return this.#queue.write(chunks, offset, bytes);
  }

  /**
   * Reads what the file has now.
   *
   * @param target filled from its beginning
   * @returns bytes read; fewer than the target has at the end of the file
   */
  read(offset: number, target: Buffer): Promise<number> {
    return this.#whileOpen(() => this.#content.read(offset, target));
  }

  /** Cuts or lengthens the file. @throws ServiceError `too-large`, `storage-full` */
  truncate(sizeBytes: number): Promise<void> {
    this.#comingBytes = sizeBytes;
    this.#noteOwn(sizeBytes);
    return this.#queue.run(() =>
      this.#mayFail(async () => {
        if (sizeBytes === this.#content.sizeBytes) return;
        await this.#requireChangeable();
        await this.#content.truncate(sizeBytes);
        this.#noteChange();
      }),
    );
  }

  /** Sets times and mode of the file to come. @throws ServiceError `forbidden` for another owner */
  setAttributes(change: AttributeChange): Promise<void> {
    return this.#whileOpen(async () => {
      await this.#requireChangeable();
      checkOwner(change.owner, this.#paths.isVisible(this.#path) ? fstatSync(this.#content.fd) : this.#ownEntry());
      if (change.mode !== undefined) fchmodSync(this.#content.fd, change.mode & 0o777);
      this.#change = { times: change.times ?? this.#change.times, mode: change.mode ?? this.#change.mode };
    });
  }

  /** All that was written so far is on disk when the promise resolves. */
  sync(): Promise<void> {
    return this.#queue.run(() => this.#mayFail(() => this.#content.sync()));
  }

  /** What the file is by now, for its own session; to those who may not look at it, what it would be if it were new. */
  entry(): Promise<Entry> {
    const own = this.#paths.isVisible(this.#path) ? undefined : this.#ownEntry();
    return this.#whileOpen(async () => {
      const { fd, sizeBytes } = this.#content;
      const entry = own ?? { ...toEntry(baseName(this.#path), fstatSync(fd)), sizeBytes };
      const { times } = this.#change;
      return times ? { ...entry, modifiedMs: times.modifiedMs, accessedMs: times.accessedMs } : entry;
    });
  }

  /** Gives the file another path to appear at. @param realPath of that. Rights, locks and events are the caller's */
  moveTo(path: VirtualPath, realPath: string): Promise<void> {
    return this.#whileOpen(async () => {
      this.#content.retarget(() => openWriteTarget(this.#paths.mounts.roots, realPath));
      this.#path = path;
    });
  }

  /** The file is removed: what is written from now on will not appear. */
  remove(): void {
    this.#isRemoved = true;
  }

  /**
   * Makes what was written the file's content; event `fileUploaded`, or `sftpTemporaryFileUploaded` under a temporary name, on disk when the promise resolves. Of a file
   * that was opened and not changed, nothing but its attributes.
   *
   * @throws ServiceError `not-durable` for a file that is there; what failed before, too, with event `uploadFailed`
   */
  async commit(): Promise<void> {
    try {
      await this.#whileOpen(() => this.#commit());
      this.#leave();
    } catch (error) {
      if (isServiceError(error, 'not-durable')) {
        this.#leave();
        throw error;
      }
      await this.abort(error);
      throw asServiceError(error);
    }
  }

  /**
   * Drops what was written; the old file stays as it was. Event `uploadFailed`.
   *
   * @param keepAs where what came up to the first gap is kept; undefined drops it all
   */
  async abort(reason: unknown, keepAs?: { path: VirtualPath; realPath: string }): Promise<void> {
    const details = asServiceError(reason).message;
    await this.#queue.run(async () => {
      this.#isEnding = true;
      const durability = new Durability();
      const isKept = keepAs && !this.#isRemoved && !this.#content.isInPlace && this.#isChanged;
      const kept = isKept ? await this.#keep(keepAs, durability) : undefined;
      try {
        await this.#content.discard();
        const durable = durability.fault === undefined ? undefined : false;
        this.#paths.emit(eventIds.uploadFailed, this.#path, { ...this.#eventData(), details, kept_as: kept, durable });
        if (durable === false) this.#paths.notDurable(durability.fault, kept);
      } finally {
        this.#leave();
      }
    });
  }

  async #commit(): Promise<void> {
    const { events } = this.#paths.environment;
    this.#isEnding = true;
    if (this.#failure) throw this.#failure;
    if (this.#isRemoved) return this.#dropRemoved();
    if (!this.#isChanged) return this.#leaveAsItWas();
    events.assertWritable();
    const { times } = this.#change;
    const durability = new Durability();
    const isReplacement = await this.#content.finish(durability, {
      requireUnlocked: () => this.#requireUnlocked(),
      modifiedMs: times?.modifiedMs,
      accessedMs: times?.accessedMs,
      verify: this.#options.exclusive ? refuseOther : undefined,
    });
    const id = this.#options.isTemporaryName(baseName(this.#path)) ? eventIds.sftpTemporaryFileUploaded : eventIds.fileUploaded;
    await this.#paths.emitDurable(id, this.#path, { ...this.#eventData(), replaced: isReplacement || undefined }, durability);
  }

  // Whoever still sends content hears of it at once, and not only at the end.
  #loseFolder(): void {
    if (!this.#isEnding && this.#content.isFolderGone)
      this.#failure ??= new ServiceError('parent-missing', 'The folder of the file was removed.');
  }

  async #dropRemoved(): Promise<void> {
    await this.#content.discard();
    this.#paths.emit(eventIds.uploadFailed, this.#path, { ...this.#eventData(), details: 'The file was removed before it was closed.' });
  }

  async #leaveAsItWas(): Promise<void> {
    const { times, mode } = this.#change;
    const isSet = times !== undefined || mode !== undefined;
    if (isSet) await this.#requireUnlocked();
    if (isSet) applyToOpened(this.#content.unchangedFd, this.#change);
    await this.#content.discard();
    if (isSet) await this.#paths.emitDurable(eventIds.sftpAttributesSet, this.#path, changeData(this.#change));
    this.#paths.emit(eventIds.fileDownloaded, this.#path, transferData(this.#durationS(), 0, 'read'));
  }

  async #keep({ path, realPath }: { path: VirtualPath; realPath: string }, durability: Durability): Promise<VirtualPath | undefined> {
    try {
      await this.#content.keepBeginning(
        durability,
        { requireUnlocked: () => this.#paths.requireUnlocked(path, 'content') },
        path === this.#path ? undefined : () => openWriteTarget(this.#paths.mounts.roots, realPath),
      );
      return path;
    } catch {
      // Then it is dropped, which its event tells.
      return undefined;
    }
  }

  #durationS(): number {
    return (this.#paths.environment.clock.monotonicMs() - this.startedMs) / 1000;
  }

  #eventData(): Record<string, unknown> {
    const { writtenBytes, isInPlace } = this.#content;
    return { ...transferData(this.#durationS(), writtenBytes, 'write'), in_place: isInPlace ? 'yes' : undefined };
  }

  async #write(chunks: readonly Buffer[], offset: number, bytes: number): Promise<void> {
    if (bytes === 0) return;
    await this.#requireChangeable();
    await this.#content.write(chunks, offset, bytes);
    this.#noteChange();
  }

  #requireUnlocked(): Promise<void> {
    return this.#paths.requireUnlocked(this.#path, 'content');
  }

  // The file itself changes with each write in place, and not only at the end.
  async #requireChangeable(): Promise<void> {
    if (this.#content.isInPlace) await this.#requireUnlocked();
  }

  #noteOwn(sizeBytes: number): void {
    this.#ownBytes = sizeBytes;
    this.#ownChangeMs = this.#paths.environment.clock.nowMs();
  }

  #ownEntry(): Entry {
    const ofNew = virtualEntry(baseName(this.#path), this.#ownChangeMs);
    const mode = this.#change.mode ?? this.#options.mode ?? 0o644;
    return { ...ofNew, isFolder: false, sizeBytes: this.#ownBytes, mode };
  }

  #noteChange(): void {
    this.#isChanged = true;
    this.#change = { ...this.#change, times: undefined };
  }

  /** Runs an action in the order of all others. @throws ServiceError `precondition-failed` when it was committed or dropped before */
  #whileOpen<T>(action: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      this.#requireOpen();
      return action();
    });
  }

  #requireOpen(): void {
    if (this.#isEnding) throw new ServiceError('precondition-failed', 'The file was closed meanwhile.');
  }

  // What failed once fails the commit, too.
  async #mayFail(action: () => Promise<void>): Promise<void> {
    this.#requireOpen();
    if (this.#failure) throw this.#failure;
    try {
      await action();
    } catch (error) {
      this.#failure = asServiceError(error);
      throw this.#failure;
    }
  }
}

function refuseOther(current: Entry | undefined): void {
  if (current) throw new ServiceError('exists', 'The file already exists.');
}
