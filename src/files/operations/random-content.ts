import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';
import { readAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { AccountPaths } from '../account-paths.ts';
import { FileWriter, type FinishOptions, type RandomWriter } from '../disk/file-writer.ts';
import type { Durability } from '../disk/folder-sync.ts';
import { closeFile } from '../disk/freeing.ts';
import { InPlaceWriter } from '../disk/in-place-writer.ts';
import { openWriteTarget, type WriteTarget } from '../disk/opened.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { type QuotaReservation, unlimited } from '../quota.ts';

/** A part of a file, from its first byte to the one after its last. */
interface Extent {
  start: number;
  end: number;
}

/** Which parts of a file were written, in order and without overlaps. */
export class Extents {
  #parts: Extent[] = [];

  /** How many parts there are that do not touch. */
  get count(): number {
    return this.#parts.length;
  }

  add(start: number, end: number): void {
    if (start >= end) return;
    const last = this.#parts.at(-1);
    // Most files are written from the beginning to the end.
    if (last && last.start <= start && start <= last.end) {
      last.end = Math.max(last.end, end);
      return;
    }
    const from = this.#firstEndingAt(start);
    let to = from;
    let joined = { start, end };
    for (; to < this.#parts.length; to++) {
      const part = this.#parts[to] as Extent;
      if (part.start > end) break;
      joined = { start: Math.min(joined.start, part.start), end: Math.max(joined.end, part.end) };
    }
    this.#parts.splice(from, to - from, joined);
  }

  /** Forgets all from a place on. */
  cut(end: number): void {
    this.#parts = this.#parts.filter((part) => part.start < end);
    const last = this.#parts.at(-1);
    if (last) last.end = Math.min(last.end, end);
  }

  /** Forgets all but so many parts from the beginning. */
  forgetLast(count: number): void {
    this.#parts.length = Math.min(this.#parts.length, count);
  }

  /** The parts between two places that were not written. */
  gaps(start: number, end: number): Extent[] {
    const gaps: Extent[] = [];
    let at = start;
    for (let index = this.#firstEndingAt(start); index < this.#parts.length && at < end; index++) {
      const part = this.#parts[index] as Extent;
      if (part.start > at) gaps.push({ start: at, end: Math.min(part.start, end) });
      at = Math.max(at, part.end);
    }
    if (at < end) gaps.push({ start: at, end });
    return gaps;
  }

  /** Index of the first part that ends at a place or behind it. */
  #firstEndingAt(place: number): number {
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#parts[middle] as Extent).end < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** How a file is opened to be written piece by piece. */
export interface RandomContentOptions {
  /** Whether a file that is missing is created. */
  create: boolean;
  /** Whether it must be missing. */
  exclusive: boolean;
  /** Whether the old content is dropped. */
  truncate: boolean;
  /** Permission bits of a new file. */
  mode?: number | undefined;
  /** Files of more bytes are changed in place. */
  copyLimitBytes: number;
}

/** What a file is written from: the new content, the old file as far as it still counts, and the room that a quota leaves. */
interface Opened {
  writer: RandomWriter;
  base: { fd: number; sizeBytes: number } | undefined;
  reservation: QuotaReservation;
}

/** Parts that do not touch, above which the gaps between them are filled at once. */
const maxParts = 4096;

const copyBytes = 1024 * 1024;

/**
 * The content of a file that is written in any order, without an announced length: what was not written over is read from the old file, and
 * copied at the end. Calls must not overlap. Ends with `finish` or `discard`.
 */
export class RandomContent {
  /** Whether there was no file before. */
  readonly isNew: boolean;
  /** Real path of the folder that it was opened in. */
  readonly folder: string;
  readonly #writer: RandomWriter;
  readonly #reservation: QuotaReservation;
  readonly #paths: AccountPaths;
  readonly #extents = new Extents();
  /** The old file, and how much of its beginning still counts. */
  #baseFd: number | undefined;
  #baseBytes: number;
  #sizeBytes: number;
  /** Room that was taken, of what was reserved at first too. */
  #paidBytes = 0;
  #writtenBytes = 0;

  private constructor(paths: AccountPaths, { writer, base, reservation }: Opened, { parent, existing }: WriteTarget) {
    this.#paths = paths;
    this.isNew = existing === undefined;
    this.folder = parent.realPath;
    this.#writer = writer;
    this.#reservation = reservation;
    this.#baseFd = base?.fd;
    this.#baseBytes = base?.sizeBytes ?? 0;
    this.#sizeBytes = writer.isInPlace ? fstatSync(writer.fd).size : this.#baseBytes;
    if (writer.isInPlace) this.#extents.add(0, this.#sizeBytes);
  }

  /**
   * Opens a file to write it. Permission and locks are the caller's.
   *
   * @param realPath absolute path, links not resolved
   * @throws ServiceError `not-found`, `parent-missing`, `is-folder`, `exists`, `storage-full`
   */
  static async open(paths: AccountPaths, realPath: string, options: RandomContentOptions): Promise<RandomContent> {
    const { mounts, environment, account } = paths;
    const target = openWriteTarget(mounts.roots, realPath);
    const { existing } = target;
    let reservation: QuotaReservation = unlimited;
    let base: Opened['base'];
    let isTaken = false;
    try {
      if (existing && options.exclusive) throw new ServiceError('exists', 'The file already exists.');
      if (!existing && !options.create) throw new ServiceError('not-found', 'Path not found.');
      const keptBytes = options.truncate ? 0 : (existing?.size ?? 0);
      reservation = await environment.quotas.reserve(mounts.roots, account.quotaSizeBytes, existing?.size ?? 0, keptBytes);
      const isInPlace = existing !== undefined && keptBytes > options.copyLimitBytes;
      if (existing && !options.truncate && !isInPlace) base = openBase(target, existing);
      isTaken = true;
      const writer = isInPlace ? new InPlaceWriter({ ...target, existing }) : new FileWriter(target, environment, options.mode);
      return new RandomContent(paths, { writer, base, reservation }, target);
    } catch (error) {
      if (!isTaken) target.parent.close();
      if (base) closeSync(base.fd);
      reservation.release();
      throw asServiceError(error);
    }
  }

  /** Whether the file itself is written, and not one that takes its place. */
  get isInPlace(): boolean {
    return this.#writer.isInPlace;
  }

  /** Whether the folder that it is written in was removed. */
  get isFolderGone(): boolean {
    return this.#writer instanceof FileWriter && this.#writer.isFolderGone;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** How much was written, bytes that were written twice counted twice. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** For attributes of what is written. */
  get fd(): number {
    return this.#writer.fd;
  }

  /** For attributes of the old file; of a new one, of what is written. */
  get unchangedFd(): number {
    return this.#baseFd ?? this.#writer.fd;
  }

  /** Puts chunks of `bytes` bytes in all at a place. @throws ServiceError `too-large`, `storage-full` */
  async write(chunks: readonly Buffer[], offset: number, bytes: number): Promise<void> {
    const end = offset + bytes;
    if (!Number.isSafeInteger(end)) throw new ServiceError('too-large', 'The file is too large.');
    await this.#pay(end);
    await this.#writer.writeAt(chunks, offset);
    this.#extents.add(offset, end);
    this.#sizeBytes = Math.max(this.#sizeBytes, end);
    this.#writtenBytes += bytes;
    if (this.#extents.count <= maxParts) return;
    await this.#fillGaps(0, this.#baseBytes);
    // Behind the old file nothing is to be filled: the last parts may be forgotten.
    this.#extents.forgetLast(maxParts / 2);
  }

  /** Fills `target` from its beginning. @returns bytes read; fewer than the target has at the end of the file */
  async read(offset: number, target: Buffer): Promise<number> {
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
  }

  /** Cuts or lengthens the file. @throws ServiceError `too-large`, `storage-full` */
  async truncate(sizeBytes: number): Promise<void> {
    await this.#pay(sizeBytes);
    await this.#writer.truncate(sizeBytes);
    this.#extents.cut(sizeBytes);
    this.#baseBytes = Math.min(this.#baseBytes, sizeBytes);
    this.#sizeBytes = sizeBytes;
  }

  /** What was written so far is on disk when the promise resolves. */
  sync(): Promise<void> {
    return this.#writer.sync();
  }

  /** Gives the file another name to appear at; in place, it has that already. */
  retarget(openTarget: () => WriteTarget): void {
    if (this.#writer instanceof FileWriter) this.#writer.retarget(openTarget());
  }

  /** Makes it the file's content, on disk when the promise resolves. @returns whether there was a file of its name */
  async finish(durability: Durability, options: Omit<FinishOptions, 'reservation'>): Promise<boolean> {
    await this.#fillGaps(0, this.#baseBytes);
    const { isReplacement } = await this.#writer.finish(durability, { ...options, reservation: this.#reservation });
    this.#closeBase();
    return isReplacement;
  }

  /** Makes what comes before the first gap the content of a file of that name. Not for what is written in place. */
  async keepBeginning(
    durability: Durability,
    { requireUnlocked }: Pick<FinishOptions, 'requireUnlocked'>,
    openTarget?: () => WriteTarget,
  ): Promise<void> {
    await requireUnlocked();
    await this.#fillGaps(0, this.#baseBytes);
    const [gap] = this.#extents.gaps(0, this.#sizeBytes);
    if (gap) await this.#writer.truncate(gap.start);
    if (openTarget) this.retarget(openTarget);
    await this.#writer.finish(durability, { requireUnlocked, reservation: this.#reservation });
  }

  /** Drops what was written; the old file stays as it was, unless it was written in place. Closes only, after `finish` or `keepBeginning` succeeded. */
  async discard(): Promise<void> {
    this.#closeBase();
    try {
      await this.#writer.discard(this.#reservation);
    } finally {
      this.#reservation.release();
    }
  }

  #closeBase(): void {
    if (this.#baseFd !== undefined) void closeFile(this.#baseFd, this.#baseBytes);
    this.#baseFd = undefined;
  }

  async #pay(sizeBytes: number): Promise<void> {
    this.#paths.checkFileSize(sizeBytes);
    if (sizeBytes <= this.#paidBytes) return;
    await this.#reservation.take(sizeBytes - this.#paidBytes);
    this.#paidBytes = sizeBytes;
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

function openBase(target: WriteTarget, existing: Stats): { fd: number; sizeBytes: number } {
  const fd = openSync(target.parent.member(target.name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const stats = fstatSync(fd);
  if (stats.ino === existing.ino && stats.dev === existing.dev) return { fd, sizeBytes: stats.size };
  closeSync(fd);
  throw new ServiceError('unavailable', 'The file was replaced meanwhile; try again.');
}
