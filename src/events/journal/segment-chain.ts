import { rmSync, statSync, unlinkSync } from 'node:fs';
import type { Timer } from '../../lib/clock.ts';
import { makeFolders, syncFolder } from '../../lib/disk/durable-files.ts';
import { marksPath } from './marks.ts';
import type { LogPosition } from './position.ts';
import { summaryPath } from './search/summary.ts';
import { SegmentWriter, type SegmentWriterOptions } from './segment-writer.ts';
import { listSegments, repairSegment, type Segment, type SegmentKind, segmentPath } from './segments.ts';

/** Pause in milliseconds before another attempt to create a file. */
const retryEveryMs = 1000;

/** Interval at which files past their retention are removed. */
const retentionEveryMs = 3_600_000;

/** Default limit for undelivered events that are kept past their retention, in bytes. */
const defaultNeededLimitBytes = 10 * 2 ** 30;

export interface SegmentChainOptions extends SegmentWriterOptions {
  folder: string;
  kind?: SegmentKind;
  /** The file to continue. By default, it is the last one. */
  segment?: Segment;
  maximumFileSizeBytes: number;
  /** Segments whose newest line is older than this number of days are removed. By default, none are removed. */
  retentionDays?: number;
  /** Further kinds of files to which the retention applies. */
  alsoRemoves?: readonly SegmentKind[];
  /** Returns the oldest position that a handler still has to read. Retention keeps the files from there on, up to `neededLimitBytes`. */
  neededFrom?: () => LogPosition | undefined;
  /** Maximum total size of the files that are kept because of `neededFrom`. By default, it is 10 GiB. */
  neededLimitBytes?: number;
  /** Called before retention removes files, with the highest segment number of these files. */
  beforeRemoval?: (upTo: number) => Promise<void>;
}

interface RemovedSegment extends Segment {
  /** Whether a handler still has to read the segment. */
  isNeeded: boolean;
}

/** Writes lines to a series of numbered files. It writes to the last file, closes full files, and removes files past their retention. */
export class SegmentChain {
  readonly #options: SegmentChainOptions;
  readonly #kind: SegmentKind;
  readonly #retentionTimer: Timer;
  readonly #ending = new Set<Promise<void>>();
  #writer: SegmentWriter;
  #triedAtMs = Number.NEGATIVE_INFINITY;

  /** Opens the last file, repairs its end, and removes files past their retention. */
  constructor(options: SegmentChainOptions) {
    const { folder, clock, log, kind = 'events' } = options;
    this.#options = options;
    this.#kind = kind;
    makeFolders(folder, { mode: 0o700 });
    const segments = options.segment ? [] : listSegments(folder, kind);
    // A power cut may tear the last lines of two segments, because a segment begins while the previous one is still being synced.
    for (const { path } of segments.slice(-2)) repairSegment(path, log);
    const last = options.segment ?? segments.at(-1);
    this.#writer = new SegmentWriter(last ?? { number: 1, path: segmentPath(folder, 1, kind) }, options);
    if (!last) syncFolder(folder);
    this.#removeOld();
    this.#retentionTimer = clock.every(retentionEveryMs, () => this.#removeOld());
  }

  get writer(): SegmentWriter {
    return this.#writer;
  }

  get end(): LogPosition {
    return { segment: this.#writer.segment.number, offset: this.#writer.sizeBytes };
  }

  /** Starts a new file if the current one failed. @throws the failure, or the reason why no file can be created */
  assertWritable(): void {
    if (this.#writer.failure !== undefined) this.#replaceFailed();
  }

  /**
   * Starts a new file if the current one failed or would become too large. If only its size is the reason, and no new file can be created,
   * the current file stays in use, because an oversized file is better than a lost line.
   *
   * @param lineBytes size of the next write
   * @throws the errors of `assertWritable`
   */
  rotateFor(lineBytes: number): void {
    const { sizeBytes, failure } = this.#writer;
    if (failure !== undefined) {
      this.#replaceFailed();
    } else if (sizeBytes > 0 && sizeBytes + lineBytes > this.#options.maximumFileSizeBytes && this.#mayTry()) {
      try {
        this.#beginNext();
      } catch (error) {
        this.#triedAtMs = this.#options.clock.monotonicMs();
        this.#options.log.warn('a new journal file could not be created; the current one stays in use', { reason: error });
      }
    }
  }

  async close(): Promise<void> {
    this.#retentionTimer.cancel();
    await Promise.all(this.#ending);
    await this.#writer.close();
  }

  // Starts a new file at most once per second. Otherwise a disk that fails every sync would fill up with files.
  #replaceFailed(): void {
    if (!this.#mayTry()) throw this.#writer.failure;
    this.#triedAtMs = this.#options.clock.monotonicMs();
    this.#beginNext();
    this.#options.log.warn('the journal continues in a new file', { path: this.#writer.segment.path });
  }

  #mayTry(): boolean {
    return this.#options.clock.monotonicMs() - this.#triedAtMs >= retryEveryMs;
  }

  #beginNext(): void {
    const { folder } = this.#options;
    makeFolders(folder, { mode: 0o700 });
    const number = this.#writer.segment.number + 1;
    const next = new SegmentWriter({ number, path: segmentPath(folder, number, this.#kind) }, this.#options);
    try {
      syncFolder(folder);
    } catch (error) {
      this.#end(next);
      throw error;
    }
    this.#end(this.#writer);
    this.#writer = next;
    this.#removeOld();
  }

  // Closes a segment in the background. The next segment is already in use while the last lines of this one are synced.
  #end(writer: SegmentWriter): void {
    const ending = writer
      .close()
      .catch((error) => this.#options.log.error('a journal file could not be ended', { path: writer.segment.path, reason: error }))
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #removeOld(): void {
    const { retentionDays, clock, neededFrom, alsoRemoves = [] } = this.#options;
    if (retentionDays === undefined) return;
    const oldestMs = clock.nowMs() - retentionDays * 86_400_000;
    this.#removeSegments(this.#kind, oldestMs, this.#writer.segment.number, neededFrom);
    for (const kind of alsoRemoves) this.#removeSegments(kind, oldestMs);
  }

  #removeSegments(
    kind: SegmentKind,
    oldestMs: number,
    current = Number.POSITIVE_INFINITY,
    neededFrom: SegmentChainOptions['neededFrom'] = undefined,
  ): void {
    const { log, beforeRemoval } = this.#options;
    const report = (error: unknown) => log.warn('journal files past their retention could not be removed', { reason: error });
    try {
      const removed = this.#segmentsToRemove(kind, oldestMs, current, neededFrom?.());
      const last = removed[0];
      if (!last) return;
      if (kind === this.#kind && beforeRemoval)
        beforeRemoval(last.number)
          .then(() => this.#remove(removed), report)
          .catch(report);
      else this.#remove(removed);
    } catch (error) {
      report(error);
    }
  }

  /**
   * Returns the segments to remove, newest first: the segments past their retention, except those that a handler still has to read.
   * Segments that a handler still has to read are kept only up to a limit, so that a receiver that stays down cannot fill the disk. Beyond
   * the limit, the oldest of them are removed.
   */
  #segmentsToRemove(kind: SegmentKind, oldestMs: number, current: number, neededFrom: LogPosition | undefined): RemovedSegment[] {
    const { folder, neededLimitBytes = defaultNeededLimitBytes } = this.#options;
    let neededBytes = 0;
    const removed: RemovedSegment[] = [];
    for (const segment of listSegments(folder, kind).reverse()) {
      const stats = statSync(segment.path, { throwIfNoEntry: false });
      if (!stats || segment.number >= current || stats.mtimeMs >= oldestMs) continue;
      const isNeeded = neededFrom !== undefined && segment.number >= neededFrom.segment;
      if (isNeeded) neededBytes += stats.size;
      if (!isNeeded || neededBytes > neededLimitBytes) removed.push({ ...segment, isNeeded });
    }
    return removed;
  }

  #remove(segments: readonly RemovedSegment[]): void {
    const { log, neededLimitBytes = defaultNeededLimitBytes } = this.#options;
    for (const { path, isNeeded } of segments) {
      try {
        unlinkSync(path);
        for (const beside of [marksPath(path), summaryPath(path)]) rmSync(beside, { force: true });
      } catch (error) {
        log.warn('a journal file past its retention could not be removed', { path, reason: error });
        continue;
      }
      if (isNeeded)
        log.error('removed a journal file with undelivered events: the limit of undelivered events is reached', { path, neededLimitBytes });
      else log.info('removed a journal file past its retention', { path });
    }
  }
}
