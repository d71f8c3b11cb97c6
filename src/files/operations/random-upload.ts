import { fchmodSync, fstatSync } from 'node:fs';
import type { SharedMembers } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { totalBytes } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { Durability } from '../disk/folder-sync.ts';
import type { WriteTarget } from '../disk/opened.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { type Entry, toEntry, virtualEntry } from '../entry.ts';
import { isHeld, neededInspections, uploadGate } from '../inspections/gate.ts';
import type { Transfer } from '../transfers.ts';
import { keepReplaced } from '../trash/trash.ts';
import { WriteQueue } from '../write-queue.ts';
import { transferData } from './file-download.ts';
import { numberedPath } from './file-upload.ts';
import { inspectedWhole, RandomContent, type RandomContentOptions } from './random-content.ts';
import { type AttributeChange, applyToOpened, changeData, checkOwner } from './set-attributes.ts';

/** Options of `RandomUpload`. With `exclusive`, the name must stay free until the end of the upload. */
export interface RandomUploadOptions extends RandomContentOptions {
  /** Returns the final name for a name that files have only during their upload (such as `a.csv.part`); undefined for other names. */
  finalName: (name: string) => string | undefined;
}

/**
 * An upload whose parts are written in any order. They are written into a hidden temporary file, which gets its final name when the upload
 * is committed. If the existing file is larger than `copyLimitBytes`, they are written into the existing file. Calls take effect in their
 * order. The caller ends the upload with `commit` or `abort`.
 */
export class RandomUpload implements Transfer {
  readonly direction = 'upload';
  readonly totalBytes = undefined;
  readonly startedMs: number;
  readonly files: AccountPaths;
  /** Final path of the file. `moveTo` changes it. */
  path: VirtualPath;
  /** Whether a client removed the file during the upload. If so, the file will not appear. */
  isRemoved = false;
  readonly #options: RandomUploadOptions;
  readonly #content: RandomContent;
  /** The path at which the file was opened, and the event data that describe this path. */
  readonly #opened: { path: VirtualPath; members: SharedMembers };
  /** Size of the file after all calls so far have taken effect. */
  #comingBytes: number;
  /** Size that the file would have without the old content. It is shown to accounts that may not see the old file. */
  #ownBytes = 0;
  #ownChangeMs: number;
  #isChanged: boolean;
  /** Whether the descriptors are closed or are being closed. If so, their numbers may already belong to other files. */
  #isEnding = false;
  #change: AttributeChange = {};
  #failure: ServiceError | undefined;
  #leave: () => void = () => {};
  readonly #queue = new WriteQueue((chunks, offset, bytes) => this.#mayFail(() => this.#write(chunks, offset, bytes)));

  private constructor(paths: AccountPaths, path: VirtualPath, options: RandomUploadOptions, content: RandomContent) {
    this.files = paths;
    this.path = path;
    this.#options = options;
    this.#content = content;
    this.#opened = { path, members: paths.pathMembers(path) };
    this.#comingBytes = content.sizeBytes;
    this.#isChanged = content.isNew || options.truncate;
    this.startedMs = paths.environment.clock.monotonicMs();
    this.#ownChangeMs = paths.environment.clock.nowMs();
  }

  /**
   * Opens a file to write it. Emits `uploadStarted`. `AccountFiles` has checked permission and locks.
   *
   * @param realPath absolute path; symbolic links are not resolved
   * @throws ServiceError `not-found`, `parent-missing`, `is-folder`, `exists`, `storage-full`, `too-many-requests`
   */
  static async open(paths: AccountPaths, path: VirtualPath, realPath: string, options: RandomUploadOptions): Promise<RandomUpload> {
    const isInspected = ({ parent, name }: WriteTarget) => neededInspections(paths, path, `${parent.realPath}/${name}`).size > 0;
    const tellsNothing = !paths.isVisible(path);
    const content = await RandomContent.open(paths, path, realPath, Object.assign({ isInspected, tellsNothing }, options));
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
      events.emitGrouped(paths.sharedDraft(eventIds.uploadStarted, upload.#opened.members));
      return upload;
    } catch (error) {
      upload.#leave();
      await content.discard();
      throw asServiceError(error);
    }
  }

  get bytes(): number {
    return this.#content.writtenBytes;
  }

  /**
   * Writes chunks at a position, or at the end of the file. The chunks must not be modified until the promise resolves.
   *
   * @throws ServiceError `too-large`, `storage-full`; after an error, the upload cannot be committed any more
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

  /** Reads the current content. @returns the number of bytes read; at the end of the file, fewer than the length of `target` */
  read(offset: number, target: Buffer): Promise<number> {
    return this.#whileOpen(() => this.#content.read(offset, target));
  }

  /** Truncates or extends the file. @throws ServiceError `too-large`, `storage-full` */
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

  /** Sets times and mode of the new file. @throws ServiceError `never-allowed` for another owner */
  setAttributes(change: AttributeChange): Promise<void> {
    return this.#whileOpen(async () => {
      await this.#requireChangeable();
      checkOwner(change.owner, this.files.isVisible(this.path) ? fstatSync(this.#content.writer.fd) : this.#ownEntry());
      if (change.mode !== undefined) fchmodSync(this.#content.writer.fd, change.mode & 0o777);
      this.#change = { times: change.times ?? this.#change.times, mode: change.mode ?? this.#change.mode };
    });
  }

  /** Syncs the content written so far; it is on disk when the promise resolves. */
  sync(): Promise<void> {
    return this.#queue.run(() => this.#mayFail(() => this.#content.writer.sync()));
  }

  /** The current state of the file, for the session that writes it. If the account may not see the old file, the state of a new file. */
  entry(): Promise<Entry> {
    const own = this.files.isVisible(this.path) ? undefined : this.#ownEntry();
    return this.#whileOpen(async () => {
      const { writer, sizeBytes } = this.#content;
      const entry = own ?? { ...toEntry(baseName(this.path), fstatSync(writer.fd)), sizeBytes };
      const { times } = this.#change;
      return times ? { ...entry, modifiedMs: times.modifiedMs, accessedMs: times.accessedMs } : entry;
    });
  }

  /** Changes the final path of the file. The caller checks rights and locks, and emits events. */
  moveTo(path: VirtualPath, realPath: string): Promise<void> {
    return this.#whileOpen(async () => {
      this.#content.retarget(() => this.files.openUploadTarget(path, realPath));
      this.path = path;
    });
  }

  remove(): void {
    this.isRemoved = true;
  }

  /**
   * Renames the content to its final name. Emits `fileUploaded`, or `sftpTemporaryFileUploaded` for a temporary name; the event is on disk
   * when the promise resolves. If the content was not changed, only sets the attributes, and emits `fileDownloaded`.
   *
   * @throws ServiceError `not-durable` if the file was renamed, but may not survive a power cut; `held` if an inspection holds the file.
   *   Before any other error, including the errors of earlier calls, emits `uploadFailed`
   */
  async commit(): Promise<void> {
    try {
      await this.#whileOpen(() => this.#commit());
      this.#leave();
    } catch (error) {
      if (isHeld(error)) {
        await this.#content.discard();
        this.#leave();
        throw error;
      }
      if (isServiceError(error, 'not-durable')) {
        this.#leave();
        throw error;
      }
      await this.abort(error);
      throw asServiceError(error);
    }
  }

  /**
   * Drops the content. The old file is unchanged, unless it was written in place. Emits `uploadFailed`.
   *
   * @param keepAs path under which the content before the first gap is kept; undefined drops all content
   */
  async abort(reason: unknown, keepAs?: { path: VirtualPath; realPath: string }): Promise<void> {
    const { message: details, details: facts } = asServiceError(reason);
    await this.#queue.run(async () => {
      this.#isEnding = true;
      const durability = new Durability();
      const isKept = keepAs && !this.isRemoved && !this.#content.writer.isInPlace && this.#isChanged;
      const kept = isKept ? await this.#keep(keepAs, durability) : undefined;
      try {
        await this.#content.discard();
        const durable = durability.fault === undefined ? undefined : false;
        this.files.emit(eventIds.uploadFailed, this.path, {
          ...this.#eventData(),
          details,
          inspection: facts.inspection,
          kept_as: kept,
          durable,
        });
        if (durable === false) this.files.notDurable(durability.fault, kept);
      } finally {
        this.#leave();
      }
    });
  }

  async #commit(): Promise<void> {
    const { events } = this.files.environment;
    this.#isEnding = true;
    if (this.#failure) throw this.#failure;
    if (this.isRemoved) return this.#dropRemoved();
    if (!this.#isChanged) return this.#leaveAsItWas();
    events.assertWritable();
    const { times } = this.#change;
    const durability = new Durability();
    const toldAs = this.#options.finalName(baseName(this.path));
    const isTemporary = toldAs !== undefined;
    const rules = this.files.nameRules(this.path);
    const { isReplacement, trashed, numberedName } = await this.#content.finish(durability, {
      requireUnlocked: () => this.#requireUnlocked(),
      modifiedMs: times?.modifiedMs,
      accessedMs: times?.accessedMs,
      verify: this.#options.exclusive ? refuseOther : undefined,
      // The retention period begins when the file is renamed to its intended name.
      rules: isTemporary ? { ...rules, retainDays: 0 } : rules,
      keep: keepReplaced(this.files, this.path),
      gate: uploadGate(this.files, () => this.path, { isConditional: this.#options.exclusive, toldAs }),
    });
    const { path, data: asked } = numberedPath(this.path, numberedName);
    const id = isTemporary ? eventIds.sftpTemporaryFileUploaded : eventIds.fileUploaded;
    const members = path === this.#opened.path ? this.#opened.members : this.files.pathMembers(path);
    const data = Object.assign(this.#eventData(), asked, { replaced: isReplacement || undefined, trashed });
    await this.files.emitDone(durability, [this.files.sharedDraft(id, members, data)]);
  }

  // A client that still sends content gets this error with its next call, not only at the end.
  #loseFolder(): void {
    if (!this.#isEnding && this.#content.isFolderGone)
      this.#failure ??= new ServiceError('parent-missing', 'The folder of the file was removed.');
  }

  async #dropRemoved(): Promise<void> {
    await this.#content.discard();
    this.files.emit(eventIds.uploadFailed, this.path, { ...this.#eventData(), details: 'The file was removed before it was closed.' });
  }

  async #leaveAsItWas(): Promise<void> {
    const { times, mode } = this.#change;
    const isSet = times !== undefined || mode !== undefined;
    if (isSet) await this.#requireUnlocked();
    if (isSet) applyToOpened(this.#content.unchangedFd, this.#change);
    await this.#content.discard();
    if (isSet) await this.files.emitDurable(eventIds.sftpAttributesSet, this.path, changeData(this.#change));
    this.files.emit(eventIds.fileDownloaded, this.path, transferData(this.#durationS(), 0, 'read'));
  }

  async #keep({ path, realPath }: { path: VirtualPath; realPath: string }, durability: Durability): Promise<VirtualPath | undefined> {
    try {
      await this.#content.keepBeginning(
        durability,
        {
          requireUnlocked: () => this.files.requireUnlocked(path, 'content'),
          rules: { ...this.files.nameRules(path), retainDays: 0 },
          keep: keepReplaced(this.files, path),
          gate: uploadGate(this.files, () => path, { isPartial: true }),
        },
        path === this.path ? undefined : () => this.files.openUploadTarget(path, realPath),
      );
      return path;
    } catch {
      // The content cannot be kept, so it is dropped, and the event has no `kept_as`.
      return undefined;
    }
  }

  #durationS(): number {
    return (this.files.environment.clock.monotonicMs() - this.startedMs) / 1000;
  }

  #eventData(): Record<string, unknown> {
    const { writtenBytes, writer } = this.#content;
    return Object.assign(transferData(this.#durationS(), writtenBytes, 'write') as Record<string, unknown>, {
      in_place: writer.isInPlace ? 'yes' : undefined,
    });
  }

  async #write(chunks: readonly Buffer[], offset: number, bytes: number): Promise<void> {
    if (bytes === 0) return;
    await this.#requireChangeable();
    await this.#content.write(chunks, offset, bytes);
    this.#noteChange();
  }

  #requireUnlocked(): Promise<void> | undefined {
    return this.files.requireUnlocked(this.path, 'content');
  }

  // A write in place changes the file immediately, so locks and inspections are checked before each write.
  async #requireChangeable(): Promise<void> {
    if (!this.#content.writer.isInPlace) return;
    await this.#requireUnlocked();
    if (neededInspections(this.files, this.path, `${this.#content.folder}/${baseName(this.path)}`).size > 0) throw inspectedWhole();
  }

  #noteOwn(sizeBytes: number): void {
    this.#ownBytes = sizeBytes;
    this.#ownChangeMs = this.files.environment.clock.nowMs();
  }

  #ownEntry(): Entry {
    const ofNew = virtualEntry(baseName(this.path), this.#ownChangeMs);
    const mode = this.#change.mode ?? this.#options.mode ?? 0o644;
    return { ...ofNew, isFolder: false, sizeBytes: this.#ownBytes, mode };
  }

  #noteChange(): void {
    this.#isChanged = true;
    if (this.#change.times !== undefined) this.#change = { mode: this.#change.mode };
  }

  /** Runs an action after all earlier calls. @throws ServiceError `precondition-failed` after the end of the upload */
  #whileOpen<T>(action: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      this.#requireOpen();
      return action();
    });
  }

  #requireOpen(): void {
    if (this.#isEnding) throw new ServiceError('precondition-failed', 'The file was closed meanwhile.');
  }

  // The first failure is kept, so that the commit fails, too.
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
