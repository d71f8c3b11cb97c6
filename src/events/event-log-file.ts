import { close, closeSync, fdatasync, fdatasyncSync, ftruncateSync, mkdirSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../lib/clock.ts';
import { ServiceError, systemErrorCode } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { ServiceEvent } from './event.ts';
import type { EventLog, LogPosition } from './event-log.ts';
import { JournalReserve } from './event-log-reserve.ts';
import { listSegments, repairSegment, type Segment, segmentPath, syncFolder } from './event-log-segments.ts';

const fdatasyncAsync = promisify(fdatasync);
const closeAsync = promisify(close);

/** Events of reads are on disk after at most this long (decisions.md 2, "The journal"). */
const syncWithinMs = 100;

const dayMs = 86_400_000;

export interface FileEventLogOptions {
  /** Folder of the journal, created when missing. */
  folder: string;
  /** A segment is ended when it would grow beyond this. */
  maximumFileSizeBytes: number;
  /** Segments whose newest event is older are removed. */
  retentionDays: number;
  clock: Clock;
  log: Log;
  /** Syncs a descriptor; replaced in tests that count syncs or make them fail. */
  sync?: (fd: number) => Promise<void>;
  /** Writes to a descriptor at its end; replaced in tests that fill the disk. */
  write?: (fd: number, bytes: Buffer) => number;
}

interface Waiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * The journal in NDJSON files. Appending is one synchronous write of a few microseconds, so that a killed process loses
 * nothing; `appendDurable` waits for a sync that all callers of the meantime share.
 */
export class FileEventLog implements EventLog {
  readonly #options: FileEventLogOptions;
  readonly #sync: (fd: number) => Promise<void>;
  readonly #write: (fd: number, bytes: Buffer) => number;
  readonly #reserve: JournalReserve;
  #segment: Segment;
  #fd: number;
  #sizeBytes: number;
  #waiting: Waiter[] = [];
  #isSyncing = false;
  #unsynced = false;
  #syncTimer: { cancel(): void } | undefined;
  readonly #retired: number[] = [];
  #lostEvents = 0;

  /** Opens the journal, repairs its end, and removes what is past its retention. */
  constructor(options: FileEventLogOptions) {
    this.#options = options;
    this.#sync = options.sync ?? fdatasyncAsync;
    this.#write = options.write ?? writeSync;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    this.#reserve = new JournalReserve(options.folder, options.clock);
    const last = listSegments(options.folder).at(-1);
    this.#segment = last ?? { number: 1, path: segmentPath(options.folder, 1) };
    this.#sizeBytes = last ? repairSegment(last.path, options.log) : 0;
    this.#fd = openSync(this.#segment.path, 'a', 0o600);
    if (!last) syncFolder(options.folder);
    this.#removeOld();
  }

  get end(): LogPosition {
    return { segment: this.#segment.number, offset: this.#sizeBytes };
  }

  append(event: ServiceEvent): LogPosition | undefined {
    try {
      const position = this.#appendLine(event);
      this.#syncSoon();
      return position;
    } catch (error) {
      this.#lostEvents++;
      this.#options.log.error('an event could not be journalled', {
        id: event.id,
        uuid: event.uuid,
        lost: this.#lostEvents,
        reason: error,
      });
      return undefined;
    }
  }

  async appendDurable(event: ServiceEvent): Promise<LogPosition> {
    const position = this.#appendLine(event);
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (!this.#isSyncing) void this.#syncWaiting();
    });
    return position;
  }

  assertWritable(): void {
    if (!this.#reserve.isHeld()) throw journalFull();
  }

  async close(): Promise<void> {
    this.#syncTimer?.cancel();
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (!this.#isSyncing) void this.#syncWaiting();
    });
    closeSync(this.#fd);
  }

  #appendLine(event: ServiceEvent): LogPosition {
    const line = Buffer.from(`${JSON.stringify(event)}\n`);
    if (this.#sizeBytes > 0 && this.#sizeBytes + line.length > this.#options.maximumFileSizeBytes) this.#rotate();
    const position = this.end;
    try {
      this.#writeLine(line);
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOSPC' && systemErrorCode(error) !== 'EDQUOT') throw journalFailed(error);
      if (!this.#reserve.release()) throw journalFull(error);
      this.#options.log.error('the disk of the journal is full; changes are refused until there is space');
      try {
        this.#writeLine(line);
      } catch (again) {
        throw journalFull(again);
      }
    }
    this.#sizeBytes += line.length;
    return position;
  }

  // A line that was written in part is cut back, so that the file stays lines of JSON.
  #writeLine(line: Buffer): void {
    let written = 0;
    try {
      while (written < line.length) written += this.#write(this.#fd, written === 0 ? line : line.subarray(written));
    } catch (error) {
      if (written > 0) ftruncateSync(this.#fd, this.#sizeBytes);
      throw error;
    }
    this.#unsynced = true;
  }

  #syncSoon(): void {
    if (this.#syncTimer || this.#isSyncing) return;
    this.#syncTimer = this.#options.clock.after(syncWithinMs, () => {
      this.#syncTimer = undefined;
      if (this.#unsynced && !this.#isSyncing) void this.#syncWaiting();
    });
  }

  // Group commit: who comes while a sync runs shares the next one.
  async #syncWaiting(): Promise<void> {
    this.#isSyncing = true;
    do {
      const waiters = this.#waiting;
      this.#waiting = [];
      this.#unsynced = false;
      try {
        await this.#sync(this.#fd);
        for (const waiter of waiters) waiter.resolve();
      } catch (error) {
        this.#options.log.error('the journal could not be synced', { reason: error });
        for (const waiter of waiters) waiter.reject(journalFailed(error));
      }
      for (const fd of this.#retired.splice(0)) await closeAsync(fd);
    } while (this.#waiting.length > 0);
    this.#isSyncing = false;
    if (this.#unsynced) this.#syncSoon();
  }

  #rotate(): void {
    const { folder } = this.#options;
    const next = { number: this.#segment.number + 1, path: segmentPath(folder, this.#segment.number + 1) };
    const fd = openSync(next.path, 'ax', 0o600);
    // Waiters of the old segment wait on a sync that may reach the new one only: this one counts for them.
    fdatasyncSync(this.#fd);
    syncFolder(folder);
    if (this.#isSyncing) this.#retired.push(this.#fd);
    else closeSync(this.#fd);
    this.#segment = next;
    this.#fd = fd;
    this.#sizeBytes = 0;
    this.#removeOld();
  }

  #removeOld(): void {
    const { folder, retentionDays, clock, log } = this.#options;
    const oldestMs = clock.nowMs() - retentionDays * dayMs;
    for (const segment of listSegments(folder)) {
      if (segment.number >= this.#segment.number || statSync(segment.path).mtimeMs >= oldestMs) continue;
      unlinkSync(segment.path);
      log.info('removed a journal file past its retention', { path: segment.path });
    }
  }
}

/** The folder of the journal inside the data folder. */
export function journalFolder(dataFolderPath: string): string {
  return join(dataFolderPath, 'journal');
}

function journalFull(cause?: unknown): ServiceError {
  return new ServiceError('storage-full', 'The disk of the event journal is full; no change is made that cannot be recorded.', { cause });
}

function journalFailed(cause: unknown): ServiceError {
  return new ServiceError('internal', 'The event journal could not be written.', { cause });
}
