import { closeSync, constants, fchmodSync, fstatSync, openSync, type Stats } from 'node:fs';
import { readAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { FileWriter, type RandomWriter } from '../disk/file-writer.ts';
import { closeFile } from '../disk/freeing.ts';
import { InPlaceWriter } from '../disk/in-place-writer.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { openWriteTarget, type WriteTarget } from '../disk/write-target.ts';
import { type Entry, entryOf } from '../entry.ts';
import { Extents } from '../extents.ts';
import { type QuotaReservation, unlimited } from '../quota.ts';
import { WriteQueue } from '../write-queue.ts';
import { transferData } from './file-download.ts';
import { type AttributeChange, applyToOpened, changeData, checkOwner } from './set-attributes.ts';

/** How a file is opened to be written piece by piece. */
export interface RandomUploadOptions {
  /** Whether a file that is missing is created. */
  create: boolean;
  /** Whether it must be missing, until the end. */
  exclusive: boolean;
  /** Whether the old content is dropped. */
  truncate: boolean;
  /** Permission bits of a new file. */
  mode?: number | undefined;
  /** Files of more bytes are changed in place. */
  copyLimitBytes: number;
  /** Whether a name is one that the file has only until it is whole. */
  isTemporaryName: (name: string) => boolean;
}

/** Parts that do not touch, above which the gaps between them are filled at once. */
const mostParts = 4096;

const copyBytes = 1024 * 1024;
/**
 * A file that is written in any order, without an announced length, and that appears whole when it is committed: writes go to a hidden
 * temporary file; of a file that was there before, what was not written over is copied at the end. Everything happens in the order in which
 * it was asked for. Ends with `commit` or `abort`.
 */
export class RandomUpload {
  readonly #paths: AccountPaths;
  readonly #options: RandomUploadOptions;
  readonly #writer: RandomWriter;
  readonly #reservation: QuotaReservation;
  readonly #startedMs: number;
  readonly #extents = new Extents();
  /** The old file, and how much of its beginning still counts. */
  #baseFd: number | undefined;
  #baseBytes: number;
  #path: VirtualPath;
  #sizeBytes: number;
  /** Size once all that was asked for is done. */
  #comingBytes: number;
  #paidBytes: number;
  #writtenBytes = 0;
  #isChanged: boolean;
  #isRemoved = false;
  /** Its descriptors are closed, or will be, and their numbers are then those of other files. */
  #isEnding = false;
  #change: AttributeChange = {};
  #failure: ServiceError | undefined;
  readonly #queue = new WriteQueue((chunks, offset, bytes) => this.#mayFail(() => this.#writeBatch(chunks, offset, bytes)));

  private constructor(
    paths: AccountPaths,
    path: VirtualPath,
    options: RandomUploadOptions,
    opened: { writer: RandomWriter; base: { fd: number; sizeBytes: number } | undefined; isNew: boolean; reservation: QuotaReservation },
  ) {
    this.#paths = paths;
    this.#path = path;
    this.#options = options;
    this.#writer = opened.writer;
    this.#reservation = opened.reservation;
    this.#baseFd = opened.base?.fd;
    this.#baseBytes = opened.base?.sizeBytes ?? 0;
    this.#sizeBytes = this.#comingBytes = this.#paidBytes = this.#baseBytes;
    if (this.#writer.isInPlace) {
      this.#sizeBytes = this.#comingBytes = this.#paidBytes = fstatSync(this.#writer.fd).size;
      this.#extents.add(0, this.#sizeBytes);
    }
    this.#isChanged = opened.isNew || options.truncate;
    this.#startedMs = paths.environment.clock.monotonicMs();
  }

  /**
   * Opens a file to write it; event 40021. Permission and locks were checked by `AccountFiles`.
   *
   * @param realPath absolute path, links not resolved
   * @throws ServiceError `not-found`, `parent-missing`, `is-folder`, `exists`, `storage-full`
   */
  static async open(paths: AccountPaths, path: VirtualPath, realPath: string, options: RandomUploadOptions): Promise<RandomUpload> {
    const target = openWriteTarget(paths.mounts.roots, realPath);
    const { existing } = target;
    const { environment, account } = paths;
    let reservation: QuotaReservation = unlimited;
    let base: { fd: number; sizeBytes: number } | undefined;
    let isTaken = false;
    try {
      if (existing && options.exclusive) throw new ServiceError('exists', 'The file already exists.');
      if (!existing && !options.create) throw new ServiceError('not-found', 'Path not found.');
      const keptBytes = options.truncate ? 0 : (existing?.size ?? 0);
      reservation = await environment.quotas.reserve(paths.mounts.roots, account.quotaSizeBytes, existing?.size ?? 0, keptBytes);
      const isInPlace = existing !== undefined && keptBytes > options.copyLimitBytes;
      if (existing && !options.truncate && !isInPlace) base = openBase(target, existing);
      isTaken = true;
      const writer = isInPlace ? new InPlaceWriter({ ...target, existing }) : new FileWriter(target, environment, options.mode);
      environment.events.emitGrouped(paths.draft(40021, path));
      return new RandomUpload(paths, path, options, { writer, base, isNew: !existing, reservation });
    } catch (error) {
      if (!isTaken) target.parent.close();
      if (base) closeSync(base.fd);
      reservation.release();
      throw asServiceError(error);
    }
  }

  /** Where the file will be; another one after `moveTo`. */
  get path(): VirtualPath {
    return this.#path;
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
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const offset = place === 'end' ? this.#comingBytes : place;
    if (bytes > 0) this.#comingBytes = Math.max(this.#comingBytes, offset + bytes);
    return this.#queue.write(chunks, offset, bytes);
  }

  /**
   * Reads what the file has now.
   *
   * @param target filled from its beginning
   * @returns bytes read; fewer than the target has at the end of the file
   */
  read(offset: number, target: Buffer): Promise<number> {
    return this.#whileOpen(async () => {
      const end = Math.min(this.#sizeBytes, offset + target.length);
      if (offset >= end) return 0;
      await this.#fillGaps(offset, end);
      let done = 0;
      while (done < end - offset) {
        const { bytesRead } = await readAsync(this.#writer.fd, target, done, end - offset - done, offset + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      // What lies between the end of what was written and that of the file are zeros.
      target.fill(0, done, end - offset);
      return end - offset;
    });
  }

  /** Cuts or lengthens the file. @throws ServiceError `too-large`, `storage-full` */
  truncate(sizeBytes: number): Promise<void> {
    this.#comingBytes = sizeBytes;
    return this.#queue.run(() =>
      this.#mayFail(async () => {
        if (sizeBytes === this.#sizeBytes) return;
        await this.#pay(sizeBytes);
        await this.#writer.truncate(sizeBytes);
        this.#extents.cut(sizeBytes);
        this.#baseBytes = Math.min(this.#baseBytes, sizeBytes);
        this.#sizeBytes = sizeBytes;
        this.#noteChange();
      }),
    );
  }

  /** Sets times and mode of the file to come. @throws ServiceError `forbidden` for another owner */
  setAttributes(change: AttributeChange): Promise<void> {
    return this.#whileOpen(async () => {
      checkOwner(change.owner, fstatSync(this.#writer.fd));
      if (change.mode !== undefined) fchmodSync(this.#writer.fd, change.mode & 0o777);
      this.#change = { times: change.times ?? this.#change.times, mode: change.mode ?? this.#change.mode };
    });
  }

  /** All that was written so far is on disk when the promise resolves. */
  sync(): Promise<void> {
    return this.#queue.run(() => this.#mayFail(() => this.#writer.sync()));
  }

  /** What the file is by now, for its own session. */
  entry(): Promise<Entry> {
    return this.#whileOpen(async () => {
      const entry = { ...entryOf(baseName(this.#path), fstatSync(this.#writer.fd)), sizeBytes: this.#sizeBytes };
      const { times } = this.#change;
      return times ? { ...entry, modifiedMs: times.modifiedMs, accessedMs: times.accessedMs } : entry;
    });
  }

  /** Gives the file another path to appear at. @param realPath of that. Rights, locks and events are the caller's */
  moveTo(path: VirtualPath, realPath: string): Promise<void> {
    return this.#whileOpen(async () => {
      // In place, the file has the new name already.
      if (this.#writer instanceof FileWriter) this.#writer.retarget(openWriteTarget(this.#paths.mounts.roots, realPath));
      this.#path = path;
    });
  }

  /** The file is removed: what is written from now on will not appear. */
  remove(): void {
    this.#isRemoved = true;
  }

  /**
   * Makes what was written the file's content; event 40017, or 30017 under a temporary name, on disk when the promise resolves. Of a file
   * that was opened and not changed, nothing but its attributes.
   *
   * @throws ServiceError what failed before, too; event 40022
   */
  async commit(): Promise<void> {
    try {
      await this.#whileOpen(() => this.#commit());
    } catch (error) {
      await this.abort(error);
      throw asServiceError(error);
    }
  }

  /**
   * Drops what was written; the old file stays as it was. Event 40022.
   *
   * @param keepAs where what came up to the first gap is kept; undefined drops it all
   */
  async abort(reason: unknown, keepAs?: { path: VirtualPath; realPath: string }): Promise<void> {
    const details = asServiceError(reason).message;
    await this.#queue.run(async () => {
      this.#isEnding = true;
      const kept = keepAs && !this.#isRemoved && !this.#writer.isInPlace && this.#isChanged ? await this.#keep(keepAs) : undefined;
      await this.#end();
      this.#paths.emit(40022, this.#path, { ...this.#eventData(), details, kept_as: kept });
    });
  }

  async #commit(): Promise<void> {
    const { events } = this.#paths.environment;
    this.#isEnding = true;
    if (this.#failure) throw this.#failure;
    if (this.#isRemoved) return this.#dropRemoved();
    if (!this.#isChanged) return this.#leaveAsItWas();
    events.assertWritable();
    await this.#paths.requireUnlocked(this.#path, 'content');
    await this.#fillGaps(0, this.#baseBytes);
    const { times } = this.#change;
    const { isReplacement } = await this.#writer.finish({
      modifiedMs: times?.modifiedMs,
      accessedMs: times?.accessedMs,
      reservation: this.#reservation,
      verify: this.#options.exclusive ? refuseOther : undefined,
    });
    this.#closeBase();
    const id = this.#options.isTemporaryName(baseName(this.#path)) ? 30017 : 40017;
    await this.#paths.emitDurable(id, this.#path, { ...this.#eventData(), replaced: isReplacement || undefined });
  }

  async #dropRemoved(): Promise<void> {
    await this.#end();
    this.#paths.emit(40022, this.#path, { ...this.#eventData(), details: 'The file was removed before it was closed.' });
  }

  async #leaveAsItWas(): Promise<void> {
    const { times, mode } = this.#change;
    const isSet = times !== undefined || mode !== undefined;
    if (isSet) applyToOpened(this.#baseFd ?? this.#writer.fd, this.#change);
    await this.#end();
    if (isSet) await this.#paths.emitDurable(30038, this.#path, changeData(this.#change));
    const durationS = (this.#paths.environment.clock.monotonicMs() - this.#startedMs) / 1000;
    this.#paths.emit(40039, this.#path, transferData(durationS, 0, 'read'));
  }

  async #keep({ path, realPath }: { path: VirtualPath; realPath: string }): Promise<VirtualPath | undefined> {
    if (!(this.#writer instanceof FileWriter)) return undefined;
    try {
      await this.#fillGaps(0, this.#baseBytes);
      const [gap] = this.#extents.gaps(0, this.#sizeBytes);
      if (gap) await this.#writer.truncate(gap.start);
      if (path !== this.#path) this.#writer.retarget(openWriteTarget(this.#paths.mounts.roots, realPath));
      await this.#writer.finish({ reservation: this.#reservation });
      return path;
    } catch {
      // Then it is dropped, which its event tells.
      return undefined;
    }
  }

  async #end(): Promise<void> {
    this.#reservation.release();
    this.#closeBase();
    await this.#writer.discard();
  }

  #closeBase(): void {
    if (this.#baseFd !== undefined) void closeFile(this.#baseFd, this.#baseBytes);
    this.#baseFd = undefined;
  }

  #eventData(): Record<string, unknown> {
    const durationS = (this.#paths.environment.clock.monotonicMs() - this.#startedMs) / 1000;
    return { ...transferData(durationS, this.#writtenBytes, 'write'), in_place: this.#writer.isInPlace ? 'yes' : undefined };
  }

  async #writeBatch(chunks: readonly Buffer[], offset: number, bytes: number): Promise<void> {
    const end = offset + bytes;
    if (bytes === 0) return;
    if (!Number.isSafeInteger(end)) throw new ServiceError('too-large', 'The file is too large.');
    await this.#pay(end);
    await this.#writer.writeAt(chunks, offset);
    this.#extents.add(offset, end);
    this.#sizeBytes = Math.max(this.#sizeBytes, end);
    this.#writtenBytes += end - offset;
    this.#noteChange();
    if (this.#extents.count <= mostParts) return;
    await this.#fillGaps(0, this.#baseBytes);
    // Behind the old file nothing is to be filled: the last parts may be forgotten.
    this.#extents.forgetLast(mostParts / 2);
  }

  #noteChange(): void {
    this.#isChanged = true;
    this.#change = { ...this.#change, times: undefined };
  }

  async #pay(sizeBytes: number): Promise<void> {
    const limitBytes = this.#paths.account.fileWriteSizeBytes;
    if (limitBytes > 0 && sizeBytes > limitBytes)
      throw new ServiceError('too-large', `A file must not be larger than ${limitBytes} bytes.`);
    if (sizeBytes <= this.#paidBytes) return;
    await this.#reservation.take(sizeBytes - this.#paidBytes);
    this.#paidBytes = sizeBytes;
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

  async #fillGaps(start: number, end: number): Promise<void> {
    if (this.#baseFd === undefined) return;
    let buffer: Buffer | undefined;
    for (const gap of this.#extents.gaps(start, Math.min(end, this.#baseBytes))) {
      buffer ??= Buffer.allocUnsafe(Math.min(copyBytes, end - start));
      for (let at = gap.start; at < gap.end; ) {
        const { bytesRead } = await readAsync(this.#baseFd, buffer, 0, Math.min(buffer.length, gap.end - at), at);
        if (bytesRead === 0) throw new ServiceError('unavailable', 'The file was cut by somebody else meanwhile.');
        await this.#writer.writeAt([buffer.subarray(0, bytesRead)], at);
        at += bytesRead;
      }
      this.#extents.add(gap.start, gap.end);
    }
  }
}

function refuseOther(current: Entry | undefined): void {
  if (current) throw new ServiceError('exists', 'The file already exists.');
}

function openBase(target: WriteTarget, existing: Stats): { fd: number; sizeBytes: number } {
  const fd = openSync(target.parent.member(target.name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const stats = fstatSync(fd);
  if (stats.ino === existing.ino && stats.dev === existing.dev) return { fd, sizeBytes: stats.size };
  closeSync(fd);
  throw new ServiceError('unavailable', 'The file was replaced meanwhile; try again.');
}
