import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';
import { readAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { FileWriter } from '../disk/file-writer.ts';
import type { Durability } from '../disk/folder-sync.ts';
import { closeFile } from '../disk/freeing.ts';
import { InPlaceWriter } from '../disk/in-place-writer.ts';
import { nameTaken } from '../disk/new-names.ts';
import type { WriteTarget } from '../disk/opened.ts';
import type { Finished, FinishOptions, RandomWriter } from '../disk/random-writer.ts';
import { asServiceError } from '../disk/system-errors.ts';
import type { Entry } from '../entry.ts';
import { type QuotaReservation, unlimited } from '../quota.ts';
import { reserveRoom } from '../trash/trash.ts';

interface Extent {
  start: number;
  /** Position after the last byte. */
  end: number;
}

/** The written parts of a file, ordered and without overlaps. */
export class Extents {
  #parts: Extent[] = [];

  get count(): number {
    return this.#parts.length;
  }

  add(start: number, end: number): void {
    if (start >= end) return;
    const last = this.#parts.at(-1);
    // Most files are written from beginning to end, so this fast path is usually enough.
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

  cut(end: number): void {
    this.#parts = this.#parts.filter((part) => part.start < end);
    const last = this.#parts.at(-1);
    if (last) last.end = Math.min(last.end, end);
  }

  forgetLast(count: number): void {
    this.#parts.length = Math.min(this.#parts.length, count);
  }

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

  #firstEndingAt(position: number): number {
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#parts[middle] as Extent).end < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export interface RandomContentOptions {
  create: boolean;
  exclusive: boolean;
  truncate: boolean;
  /** Permission bits of a new file. */
  mode?: number | undefined;
  /** Existing files larger than this are changed in place. */
  copyLimitBytes: number;
  /** Whether the file is opened to append to its content. */
  isAppending?: boolean;
  /** Whether the target is inspected. Such a file can only be uploaded as a whole. */
  isInspected?: ((target: WriteTarget) => boolean) | undefined;
  /** Whether errors must not reveal that the file exists. */
  tellsNothing?: boolean;
}

interface Opened {
  writer: RandomWriter;
  base: { fd: number; sizeBytes: number } | undefined;
  reservation: QuotaReservation;
}

/** If there are more separate parts than this, the gaps between them are filled immediately. */
const maxParts = 4096;

const copyBytes = 1024 * 1024;

/**
 * The content of a file whose parts are written in any order, without an announced length. Parts that were not written are read from the
 * old file, and copied from it at the end. Calls must not overlap. The caller calls `finish`, `keepBeginning` or `discard` at the end.
 */
export class RandomContent {
  readonly isNew: boolean;
  /** Real path of the file's folder when it was opened. */
  readonly folder: string;
  readonly writer: RandomWriter;
  sizeBytes: number;
  /** Bytes written. Bytes that were overwritten count again. */
  writtenBytes = 0;
  readonly #reservation: QuotaReservation;
  readonly #paths: AccountPaths;
  readonly #extents = new Extents();
  /** Descriptor of the old file, and the number of bytes at its beginning that are still part of the content. */
  #baseFd: number | undefined;
  #baseBytes: number;
  #paidBytes = 0;

  private constructor(paths: AccountPaths, { writer, base, reservation }: Opened, { parent, existing }: WriteTarget) {
    this.#paths = paths;
    this.isNew = existing === undefined;
    this.folder = parent.realPath;
    this.writer = writer;
    this.#reservation = reservation;
    this.#baseFd = base?.fd;
    this.#baseBytes = base?.sizeBytes ?? 0;
    this.sizeBytes = writer instanceof InPlaceWriter ? writer.oldBytes : this.#baseBytes;
    if (writer.isInPlace) this.#extents.add(0, this.sizeBytes);
  }

  /**
   * Opens a file to write it. The caller checks permission and locks.
   *
   * @param realPath absolute path; symbolic links are not resolved
   * @throws ServiceError `not-found`, `parent-missing`, `is-folder`, `exists`, `storage-full`
   */
  static async open(paths: AccountPaths, path: VirtualPath, realPath: string, options: RandomContentOptions): Promise<RandomContent> {
    const { environment } = paths;
    const target = paths.openUploadTarget(path, realPath, (current) => checkNumbered(paths, path, current, options));
    const { existing } = target;
    let reservation: QuotaReservation = unlimited;
    let base: Opened['base'];
    let isTaken = false;
    try {
      if (existing && options.exclusive) throw new ServiceError('exists', 'The file already exists.');
      if (!existing && !options.create) throw new ServiceError('not-found', 'Path not found.');
      const keptBytes = options.truncate ? 0 : (existing?.size ?? 0);
      reservation = await reserveRoom(paths, existing?.size ?? 0, keptBytes);
      const isInPlace = existing !== undefined && keptBytes > options.copyLimitBytes;
      if (existing && !options.truncate && !isInPlace) base = openBase(target, existing);
      const isAppended = options.isAppending && !options.truncate && (existing || options.tellsNothing);
      if ((isInPlace || isAppended) && options.isInspected?.(target)) throw inspectedWhole();
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

  /** Whether the folder of the file was removed. Always false for a file that is written in place. */
  get isFolderGone(): boolean {
    return this.writer instanceof FileWriter && this.writer.isFolderGone;
  }

  /** The descriptor on which attributes are set if the content stays unchanged. It belongs to the old file if there is one. */
  get unchangedFd(): number {
    return this.#baseFd ?? this.writer.fd;
  }

  /** Writes chunks at a position. @param bytes length of all chunks together @throws ServiceError `too-large`, `storage-full` */
  async write(chunks: readonly Buffer[], offset: number, bytes: number): Promise<void> {
    const end = offset + bytes;
    if (!Number.isSafeInteger(end)) throw new ServiceError('too-large', 'The file is too large.');
    await this.#pay(end);
    await this.writer.writeAt(chunks, offset);
    this.#extents.add(offset, end);
    this.sizeBytes = Math.max(this.sizeBytes, end);
    this.writtenBytes += bytes;
    if (this.#extents.count <= maxParts) return;
    await this.#fillGaps(0, this.#baseBytes);
    // Gaps are filled only up to the end of the old file, so parts after that end can be dropped from the list.
    this.#extents.forgetLast(maxParts / 2);
  }

  /** Reads into `target`. @returns the number of bytes read; at the end of the file, fewer than the length of `target` */
  async read(offset: number, target: Buffer): Promise<number> {
    const end = Math.min(this.sizeBytes, offset + target.length);
    if (offset >= end) return 0;
    await this.#fillGaps(offset, end);
    let done = 0;
    while (done < end - offset) {
      const { bytesRead } = await readAsync(this.writer.fd, target, done, end - offset - done, offset + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    // If the file was extended, it has zeros after the written part.
    target.fill(0, done, end - offset);
    return end - offset;
  }

  /** Truncates or extends the file. @throws ServiceError `too-large`, `storage-full` */
  async truncate(sizeBytes: number): Promise<void> {
    await this.#pay(sizeBytes);
    await this.writer.truncate(sizeBytes);
    this.#extents.cut(sizeBytes);
    this.#baseBytes = Math.min(this.#baseBytes, sizeBytes);
    this.sizeBytes = sizeBytes;
  }

  /** Changes the final name of the file. Does nothing for a file that is written in place, which already has its name. */
  retarget(openTarget: () => WriteTarget): void {
    if (this.writer instanceof FileWriter) this.writer.retarget(openTarget());
  }

  /** Renames the content to its final name. Content and name are on disk when the promise resolves. */
  async finish(durability: Durability, options: Omit<FinishOptions, 'reservation'>): Promise<Finished> {
    await this.#fillGaps(0, this.#baseBytes);
    const finished = await this.writer.finish(durability, Object.assign({ reservation: this.#reservation }, options));
    this.#closeBase();
    return finished;
  }

  /** Keeps only the content before the first gap, and renames the file to its final name. Not for a file that is written in place. */
  async keepBeginning(
    durability: Durability,
    { requireUnlocked, rules, keep, gate }: Pick<FinishOptions, 'requireUnlocked' | 'rules' | 'keep' | 'gate'>,
    openTarget?: () => WriteTarget,
  ): Promise<void> {
    await requireUnlocked();
    await this.#fillGaps(0, this.#baseBytes);
    const [gap] = this.#extents.gaps(0, this.sizeBytes);
    if (gap) await this.writer.truncate(gap.start);
    if (openTarget) this.retarget(openTarget);
    await this.writer.finish(durability, { requireUnlocked, rules, keep, gate, reservation: this.#reservation });
  }

  /** Drops the content. The old file is unchanged, unless it was written in place. After `finish` or `keepBeginning`, only closes files. */
  async discard(): Promise<void> {
    this.#closeBase();
    try {
      await this.writer.discard(this.#reservation);
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
        if (bytesRead === 0) throw new ServiceError('unavailable', 'The file was truncated by someone else meanwhile.');
        await this.writer.writeAt([buffer.subarray(0, bytesRead)], at);
        at += bytesRead;
      }
      this.#extents.add(gap.start, gap.end);
    }
  }
}

// Only a client that wants a new file may get a numbered name. A client that continues a file, or requires that the name is free, needs
// exactly the requested name.
function checkNumbered(
  paths: AccountPaths,
  path: VirtualPath,
  current: Entry | undefined,
  { create, truncate, exclusive }: RandomContentOptions,
): void {
  const { mayReplace } = paths.nameRules(path);
  if (current && !mayReplace && (!create || !truncate || exclusive)) throw nameTaken();
}

/** The error for a change of a file that must be uploaded as a whole, because it is inspected. */
export function inspectedWhole(): ServiceError {
  return new ServiceError('never-allowed', 'Files are inspected as a whole here: upload the whole file again.');
}

function openBase(target: WriteTarget, existing: Stats): { fd: number; sizeBytes: number } {
  const fd = openSync(target.parent.member(target.name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (stats.ino === existing.ino && stats.dev === existing.dev) return { fd, sizeBytes: stats.size };
    throw new ServiceError('unavailable', 'The file was replaced meanwhile; try again.');
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
