import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { Clock, Timer } from '../../lib/clock.ts';
import { SharedRuns } from '../../lib/concurrency/shared-runs.ts';
import { fdatasyncAsync } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError, systemErrorCode } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { EventMarks } from './event-log.ts';
import { MarksWriter } from './marks.ts';
import type { Segment } from './segments.ts';

/** Events about reading are synced to disk within this time, in milliseconds (docs/spec/events.md#durability). */
const syncWithinMs = 100;

export interface SegmentWriterOptions {
  clock: Clock;
  log: Log;
  /** Syncs a descriptor. Tests replace it to count syncs or to make them fail. */
  sync?: (fd: number) => Promise<void>;
  /** Appends to the file of a descriptor. Tests replace it to simulate a full disk. */
  write?: (fd: number, bytes: Buffer) => number;
}

/** Appends complete lines to one journal file and syncs them in groups. */
export class SegmentWriter {
  readonly segment: Segment;
  readonly #options: SegmentWriterOptions;
  readonly #fd: number;
  readonly #marks: MarksWriter;
  #sizeBytes: number;
  #failure: unknown;
  readonly #syncs = new SharedRuns(() => this.#syncLines());
  #isUnsynced = false;
  #syncTimer: Timer | undefined;
  #isClosed = false;

  /** Opens a segment, and creates it if it does not exist. */
  constructor(segment: Segment, options: SegmentWriterOptions) {
    this.segment = segment;
    this.#options = options;
    this.#fd = openSync(segment.path, 'a', 0o600);
    this.#marks = new MarksWriter(segment.path);
    try {
      this.#sizeBytes = fstatSync(this.#fd).size;
    } catch (error) {
      closeSync(this.#fd);
      throw error;
    }
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /**
   * The error after which nothing more may be written to this segment. Linux reports a failed sync only once, and drops the pages that it
   * could not write. A later sync of the file would therefore succeed although data is lost.
   */
  get failure(): unknown {
    return this.#failure;
  }

  /** Writes the marks of an event before the event itself. @param offset offset in bytes at which the event will begin */
  mark(offset: number, uuid: string, marks: EventMarks, hasAccount: boolean): void {
    this.#marks.write(offset, uuid, marks, hasAccount);
  }

  /** Writes complete lines. If the write fails, removes the part that was written, so that the file contains only complete lines. */
  append(line: Buffer): void {
    // After `close`, the descriptor's number may refer to another file.
    if (this.#isClosed) throw new ServiceError('unavailable', `${this.segment.path} is closed`);
    const { write = writeSync } = this.#options;
    let written = 0;
    try {
      while (written < line.length) written += write(this.#fd, written === 0 ? line : line.subarray(written));
    } catch (error) {
      if (written > 0) this.#cutBack();
      if (!isDiskFull(error)) this.#failure ??= error;
      throw error;
    }
    this.#sizeBytes += line.length;
    this.#isUnsynced = true;
  }

  /** Resolves when all lines so far are on disk. Calls that arrive during a sync share the next one. */
  synced(): Promise<void> {
    return this.#syncs.run();
  }

  /** Schedules a sync of all lines so far. */
  syncSoon(): void {
    this.#syncTimer ??= this.#options.clock.after(syncWithinMs, () => {
      this.#syncTimer = undefined;
      // No caller waits for this sync. Its error is logged and kept as `failure`.
      if (this.#isUnsynced && !this.#isClosed) this.#syncs.run().catch(() => {});
    });
  }

  /** Syncs all lines so far to disk before it returns. @throws the error of fdatasync(2) */
  syncNow(): void {
    if (!this.#isClosed && this.#failure === undefined) fdatasyncSync(this.#fd);
  }

  async close(): Promise<void> {
    try {
      do await this.synced();
      while (this.#syncs.isRunning);
    } finally {
      this.#syncTimer?.cancel();
      this.#isClosed = true;
      this.#marks.close();
      closeSync(this.#fd);
    }
  }

  async #syncLines(): Promise<void> {
    const { log, sync = fdatasyncAsync } = this.#options;
    this.#isUnsynced = false;
    if (this.#failure !== undefined) throw this.#failure;
    try {
      if (this.#marks.isUnsynced) await this.#marks.sync();
      await sync(this.#fd);
      // If the file was deleted, its lines would be lost when this process ends.
      if (fstatSync(this.#fd).nlink === 0) throw new ServiceError('internal', `${this.segment.path} was removed.`);
    } catch (error) {
      // A write may have failed during the sync. The failure of that write was already logged.
      if (this.#failure === undefined) log.error('the journal could not be synced', { path: this.segment.path, reason: error });
      this.#failure ??= error;
      endProcessUnlessExpected(error);
      throw error;
    }
  }

  #cutBack(): void {
    try {
      ftruncateSync(this.#fd, this.#sizeBytes);
    } catch (error) {
      this.#options.log.error('a torn event could not be cut off the journal', { path: this.segment.path, reason: error });
      this.#failure ??= error;
    }
  }
}

/** Whether a write failed because the disk or the quota is full. */
export function isDiskFull(error: unknown): boolean {
  return systemErrorCode(error) === 'ENOSPC' || systemErrorCode(error) === 'EDQUOT';
}

/** Creates the error for a full disk. A change that cannot be recorded is refused (docs/spec/events.md#durability). */
export function journalFull(cause?: unknown): ServiceError {
  return new ServiceError('storage-full', 'The disk of the event journal is full; changes are refused because they cannot be recorded.', {
    cause,
  });
}

/** Creates the error for a failed write or sync of the journal: `storage-full` or `internal`. */
export function journalFault(cause: unknown): ServiceError {
  return isDiskFull(cause) ? journalFull(cause) : new ServiceError('internal', 'The event journal could not be written.', { cause });
}

/**
 * Runs a step of the journal writer and rethrows its errors. The caller handles system errors, such as a full or broken disk. After any
 * other error, the state of the journal is unknown. Therefore, such an error also ends the process.
 */
export function orEndProcess<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    endProcessUnlessExpected(error);
    throw error;
  }
}

/**
 * Ends the process unless the error is a system error (see `orEndProcess`). It throws the error in a microtask, where no request can catch
 * it.
 */
export function endProcessUnlessExpected(error: unknown): void {
  const cause = isServiceError(error) ? (error.cause ?? error) : error;
  if (isServiceError(cause) || systemErrorCode(cause) !== undefined) return;
  queueMicrotask(() => {
    throw error;
  });
}
