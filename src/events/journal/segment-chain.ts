import type { Timer } from '../../lib/clock.ts';
import { makeFolders, syncFolder } from '../../lib/disk/durable-files.ts';
import type { LogPosition } from './position.ts';
import { removeOldSegments } from './retention.ts';
import { journalFault, SegmentWriter, type SegmentWriterOptions } from './segment-writer.ts';
import { listSegments, repairSegment, type Segment, segmentPath } from './segments.ts';

/** How often a file that could not be begun is tried again. */
const retryEveryMs = 1000;

/** How often a quiet journal looks for files past their retention. */
const retentionEveryMs = 3_600_000;

/** What undelivered events may take on disk past their retention, in bytes. */
const defaultNeededLimitBytes = 10 * 2 ** 30;

export interface SegmentChainOptions extends SegmentWriterOptions {
  /** Folder of the journal. */
  folder: string;
  /** A segment is ended when it would grow beyond this. */
  maximumFileSizeBytes: number;
  /** Segments whose newest event is older are removed. */
  retentionDays: number;
  /** The oldest position that a handler still has to read: retention spares it, up to `neededLimitBytes`. */
  neededFrom?: () => LogPosition | undefined;
  /** Largest size of what `neededFrom` spares; 10 GiB when left out. */
  neededLimitBytes?: number;
}

/** The files of a journal: the one that is written, those that are being ended, and those that are past their retention. */
export class SegmentChain {
  readonly #options: SegmentChainOptions;
  readonly #retentionTimer: Timer;
  readonly #ending = new Set<Promise<void>>();
  #writer: SegmentWriter;
  #triedAtMs = Number.NEGATIVE_INFINITY;

  /** Opens the last file, repairs its end, and removes what is past its retention. */
  constructor(options: SegmentChainOptions) {
    this.#options = options;
    const { folder, clock, log } = options;
    const segments = listSegments(folder);
    // A power cut may tear the last two: a segment is begun while the one before is still being synced.
    for (const { path } of segments.slice(-2)) repairSegment(path, log);
    const last = segments.at(-1);
    this.#writer = new SegmentWriter(last ?? segmentOf(folder, 1), options);
    if (!last) syncFolder(folder);
    this.#removeOld();
    this.#retentionTimer = clock.every(retentionEveryMs, () => this.#removeOld());
  }

  /** The end of the file that is written. */
  get writer(): SegmentWriter {
    return this.#writer;
  }

  get end(): LogPosition {
    return { segment: this.#writer.segment.number, offset: this.#writer.sizeBytes };
  }

  /** Begins a new file where the present one failed. @throws ServiceError `storage-full` or `internal` when that cannot be done */
  assertWritable(): void {
    if (this.#writer.failure !== undefined) this.#replaceFailed();
  }

  /**
   * Begins a new file where the present one failed, or would grow too large. A full one that cannot be followed by a new one is written on:
   * too large a file is better than a lost event.
   *
   * @param lineBytes what will be written
   * @throws as `assertWritable`
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
        this.#options.log.warn('a new journal file could not be begun; the present one is written on', { reason: error });
      }
    }
  }

  /** Syncs and closes all files. @throws ServiceError `storage-full` or `internal` when the last one could not be synced */
  async close(): Promise<void> {
    this.#retentionTimer.cancel();
    await Promise.all(this.#ending);
    try {
      await this.#writer.close();
    } catch (error) {
      throw journalFault(error);
    }
  }

  // At most once a second, so that a disk that fails every sync does not fill up with files.
  #replaceFailed(): void {
    if (!this.#mayTry()) throw journalFault(this.#writer.failure);
    this.#triedAtMs = this.#options.clock.monotonicMs();
    try {
      this.#beginNext();
    } catch (error) {
      throw journalFault(error);
    }
    this.#options.log.warn('the journal goes on in a new file', { path: this.#writer.segment.path });
  }

  #mayTry(): boolean {
    return this.#options.clock.monotonicMs() - this.#triedAtMs >= retryEveryMs;
  }

  #beginNext(): void {
    const { folder } = this.#options;
    makeFolders(folder, { mode: 0o700 });
    const next = new SegmentWriter(segmentOf(folder, this.#writer.segment.number + 1), this.#options);
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

  // Its last lines are synced and their waiters answered while the next segment is already written.
  #end(writer: SegmentWriter): void {
    const ending = writer
      .close()
      .catch((error) => this.#options.log.error('a journal file could not be ended', { path: writer.segment.path, reason: error }))
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #removeOld(): void {
    const { folder, retentionDays, clock, log, neededFrom } = this.#options;
    try {
      removeOldSegments({
        folder,
        kind: 'events',
        retentionDays,
        currentSegment: this.#writer.segment.number,
        neededFrom: neededFrom?.(),
        neededLimitBytes: this.#options.neededLimitBytes ?? defaultNeededLimitBytes,
        nowMs: clock.nowMs(),
        log,
      });
    } catch (error) {
      log.warn('journal files past their retention could not be removed', { reason: error });
    }
  }
}

function segmentOf(folder: string, number: number): Segment {
  return { number, path: segmentPath(folder, number) };
}
