import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Timer } from '../../lib/clock.ts';
import { makeFolders, syncFolder } from '../../lib/disk/durable-files.ts';
import type { Log } from '../../lib/log.ts';
import type { ServiceEvent } from '../event.ts';
import { backlogOf } from './backlog.ts';
import type { Backlog, BadLine, EventLog, EventMarks, EventReader } from './event-log.ts';
import { comparePositions, type LogPosition } from './position.ts';
import { JournalReader } from './reader.ts';
import { RecentEvents } from './recent.ts';
import { JournalReserve } from './reserve.ts';
import { removeOldSegments } from './retention.ts';
import { isDiskFull, journalFault, journalFull, orEndProcess, SegmentWriter } from './segment-writer.ts';
import { listSegments, repairSegment, type Segment, segmentPath } from './segments.ts';
import { lineOf, serialisedEvents, type WaitingLine } from './serialised.ts';

const noMarks: EventMarks = { group: undefined, takenBy: undefined };

/** How often a file that could not be begun is tried again, and lost events are reported. */
const retryEveryMs = 1000;

/** How often a quiet journal looks for files past their retention. */
const retentionEveryMs = 3_600_000;

/** What undelivered events may take on disk past their retention, in bytes. */
const neededLimitBytes = 10 * 2 ** 30;

export interface FileEventLogOptions {
  /** Folder of the journal, created when missing. */
  folder: string;
  /** A segment is ended when it would grow beyond this. */
  maximumFileSizeBytes: number;
  /** Segments whose newest event is older are removed. */
  retentionDays: number;
  /** The oldest position that a handler still has to read: retention spares it, up to `neededLimitBytes`. */
  neededFrom?: () => LogPosition | undefined;
  /** Largest size of what `neededFrom` spares; 10 GiB when left out. */
  neededLimitBytes?: number;
  clock: Clock;
  log: Log;
  /** Syncs a descriptor; replaced in tests that count syncs or make them fail. */
  sync?: (fd: number) => Promise<void>;
  /** Writes to a descriptor at its end; replaced in tests that fill the disk. */
  write?: (fd: number, bytes: Buffer) => number;
}

/**
 * The journal in NDJSON files. Appending is one synchronous write of a few microseconds, so that a killed process loses
 * nothing; `appendDurable` waits for a sync that all callers of the meantime share.
 */
export class FileEventLog implements EventLog {
  readonly #options: FileEventLogOptions;
  readonly #reserve: JournalReserve;
  readonly #retentionTimer: Timer;
  readonly #ending = new Set<Promise<void>>();
  readonly #waitingForMore = new Set<() => void>();
  readonly #recent = new RecentEvents();
  #isWaking = false;
  #group: WaitingLine[] = [];
  #groupWritten: Promise<void> | undefined;
  #writer: SegmentWriter;
  #segmentTriedAtMs = Number.NEGATIVE_INFINITY;
  #lostEvents = 0;
  #lostReportedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  /** Opens the journal, repairs its end, and removes what is past its retention. */
  constructor(options: FileEventLogOptions) {
    this.#options = options;
    const { folder, clock, log } = options;
    makeFolders(folder, { mode: 0o700 });
    this.#reserve = new JournalReserve(folder, clock, log);
    const segments = listSegments(folder);
    // A power cut may tear the last two: a segment is begun while the one before is still being synced.
    for (const { path } of segments.slice(-2)) repairSegment(path, log);
    const last = segments.at(-1);
    this.#writer = new SegmentWriter(last ?? segmentOf(folder, 1), options);
    if (!last) syncFolder(folder);
    this.#removeOld();
    this.#retentionTimer = clock.every(retentionEveryMs, () => this.#removeOld());
  }

  get end(): LogPosition {
    return { segment: this.#writer.segment.number, offset: this.#writer.sizeBytes };
  }

  append(event: ServiceEvent, marks: EventMarks = noMarks): LogPosition | undefined {
    try {
      // When the disk is full, half of the reserve is for changes under way: reads alone must not use it up.
      if (!this.#reserve.hasRoomForReads && !this.#reserve.isHeld()) throw journalFull();
      const position = this.#appendLine(lineOf(event, marks));
      this.#writer.syncSoon();
      return position;
    } catch (error) {
      this.#reportLost(event, error);
      return undefined;
    }
  }

  appendGrouped(event: ServiceEvent, marks: EventMarks = noMarks): void {
    this.#group.push(lineOf(event, marks));
    this.#groupWritten ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#writeGroup();
        resolve();
      });
    });
  }

  grouped(): Promise<void> | undefined {
    return this.#groupWritten;
  }

  async appendDurable(event: ServiceEvent, marks: EventMarks = noMarks): Promise<LogPosition> {
    const position = this.#appendLine(lineOf(event, marks));
    try {
      await this.#writer.synced();
    } catch (error) {
      throw journalFault(error);
    }
    return position;
  }

  /**
   * Writes events that another process of this server serialised: whole lines, whose accounts are of one group.
   *
   * @param group null when the accounts have none, undefined when the events have no accounts
   * @param kind `changes` when requests wait for them; a full disk leaves less room for `reads`, and none for a mixture
   * @returns resolves when they are on disk; nobody need wait for reads
   * @throws ServiceError `storage-full` or `internal` when none of them could be written
   */
  appendSerialised(lines: Buffer, group: string | null | undefined, kind: 'reads' | 'changes' | 'mixed'): Promise<void> {
    if (kind !== 'changes' && !this.#reserve.hasRoomForReads && !this.#reserve.isHeld()) throw journalFull();
    const marks = { group: group ?? undefined, takenBy: undefined };
    this.#writeGroup();
    orEndProcess(() => {
      const position = this.#appendBytes(lines, (offset) => this.#writer.mark(offset, '', marks, group !== undefined));
      if (this.#recent.isKept) for (const logged of serialisedEvents(lines, position, marks.group)) this.#recent.add(logged);
    });
    if (this.#waitingForMore.size > 0) this.#wakeSoon();
    if (kind !== 'reads') return this.#writer.synced().catch((error) => Promise.reject(journalFault(error)));
    this.#writer.syncSoon();
    return Promise.resolve();
  }

  /** Counts and logs an event of a read that could not be written. */
  noteLost(event: Pick<ServiceEvent, 'id' | 'uuid'>, error: unknown): void {
    this.#reportLost(event, error);
  }

  assertWritable(): void {
    if (!this.#reserve.isHeld()) throw journalFull();
    if (this.#writer.failure !== undefined) this.#replaceFailedSegment();
  }

  async backlog(from: LogPosition): Promise<Backlog> {
    return backlogOf(this.#options.folder, from, this.end);
  }

  async sizeBytes(): Promise<number> {
    const { folder } = this.#options;
    return readdirSync(folder).reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);
  }

  openReader(onBadLine: (bad: BadLine) => void): EventReader {
    const reader = new JournalReader(this.#options.folder, onBadLine);
    const release = this.#recent.keep();
    return {
      next: async (from) => {
        if (!from) return reader.next(from);
        if (comparePositions(from, this.end) === 0) return { events: [], next: from };
        return this.#recent.from(from) ?? reader.next(from);
      },
      close() {
        release();
        reader.close();
      },
    };
  }

  waitForMore(from: LogPosition, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#isClosed || comparePositions(this.end, from) > 0) return resolve();
      const settle = () => {
        this.#waitingForMore.delete(settle);
        signal?.removeEventListener('abort', settle);
        if (signal?.aborted) reject(signal.reason);
        else resolve();
      };
      this.#waitingForMore.add(settle);
      signal?.addEventListener('abort', settle);
    });
  }

  flushNow(): void {
    this.#writeGroup();
    this.#writer.syncNow();
  }

  async close(): Promise<void> {
    this.#writeGroup();
    this.#isClosed = true;
    this.#retentionTimer.cancel();
    this.#wake();
    if (this.#lostEvents > 0) this.#options.log.error('events could not be journalled', { lost: this.#lostEvents });
    await Promise.all(this.#ending);
    try {
      await this.#writer.close();
    } catch (error) {
      throw journalFault(error);
    }
  }

  #appendLine(line: WaitingLine): LogPosition {
    this.#writeGroup();
    return this.#appendLines([line], Buffer.from(line.text));
  }

  // One that cannot be written is counted and logged, as a single event of a read is.
  #writeGroup(): void {
    const lines = this.#group;
    this.#group = [];
    this.#groupWritten = undefined;
    if (lines.length === 0) return;
    try {
      if (!this.#reserve.hasRoomForReads && !this.#reserve.isHeld()) throw journalFull();
      let text = '';
      for (const line of lines) text += line.text;
      this.#appendLines(lines, Buffer.from(text));
      this.#writer.syncSoon();
    } catch (error) {
      for (const { event } of lines) this.#reportLost(event, error);
    }
  }

  /** @param bytes the texts of all lines */
  #appendLines(lines: readonly WaitingLine[], bytes: Buffer): LogPosition {
    return orEndProcess(() => {
      const position = this.#appendBytes(bytes, (begin) => {
        let offset = begin;
        for (const { event, marks, hasAccount, sizeBytes } of lines) {
          this.#writer.mark(offset, event.uuid, marks, hasAccount);
          offset += sizeBytes;
        }
      });
      if (this.#recent.isKept) this.#keepRecent(lines, bytes, position);
      if (this.#waitingForMore.size > 0) this.#wakeSoon();
      return position;
    });
  }

  /** @param mark writes the marks of what begins at an offset of the segment */
  #appendBytes(bytes: Buffer, mark: (offset: number) => void): LogPosition {
    this.#rotateFor(bytes.length);
    const position = this.end;
    const write = () => {
      mark(position.offset);
      this.#writer.append(bytes);
    };
    try {
      write();
    } catch (error) {
      if (!isDiskFull(error) || !this.#reserve.release()) throw journalFault(error);
      this.#options.log.error('the disk of the journal is full; changes are refused until there is space');
      try {
        write();
      } catch (again) {
        throw journalFault(again);
      }
    }
    this.#reserve.countUse(bytes.length);
    return position;
  }

  #keepRecent(lines: readonly WaitingLine[], bytes: Buffer, first: LogPosition): void {
    let position = first;
    for (const { event, marks, hasAccount, sizeBytes } of lines) {
      const next = { segment: first.segment, offset: position.offset + sizeBytes };
      const start = position.offset - first.offset;
      const group = hasAccount ? marks.group : undefined;
      this.#recent.add({ event, raw: bytes.subarray(start, start + sizeBytes - 1), position, next, group, takenBy: marks.takenBy });
      position = next;
    }
  }

  // Behind the work of the request that is under way, once for all events of it.
  #wakeSoon(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      this.#wake();
    });
  }

  #wake(): void {
    for (const settle of [...this.#waitingForMore]) settle();
  }

  // A full segment that cannot be followed by a new one is written on: too large a file is better than a lost event.
  #rotateFor(lineBytes: number): void {
    const { sizeBytes, failure } = this.#writer;
    if (failure !== undefined) {
      this.#replaceFailedSegment();
    } else if (sizeBytes > 0 && sizeBytes + lineBytes > this.#options.maximumFileSizeBytes && this.#mayTrySegment()) {
      try {
        this.#beginSegment();
      } catch (error) {
        this.#segmentTriedAtMs = this.#options.clock.monotonicMs();
        this.#options.log.warn('a new journal file could not be begun; the present one is written on', { reason: error });
      }
    }
  }

  // At most once a second, so that a disk that fails every sync does not fill up with files.
  #replaceFailedSegment(): void {
    if (!this.#mayTrySegment()) throw journalFault(this.#writer.failure);
    this.#segmentTriedAtMs = this.#options.clock.monotonicMs();
    try {
      this.#beginSegment();
    } catch (error) {
      throw journalFault(error);
    }
    this.#options.log.warn('the journal goes on in a new file', { path: this.#writer.segment.path });
  }

  #mayTrySegment(): boolean {
    return this.#options.clock.monotonicMs() - this.#segmentTriedAtMs >= retryEveryMs;
  }

  #beginSegment(): void {
    const { folder } = this.#options;
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
        neededLimitBytes: this.#options.neededLimitBytes ?? neededLimitBytes,
        nowMs: clock.nowMs(),
        log,
      });
    } catch (error) {
      log.warn('journal files past their retention could not be removed', { reason: error });
    }
  }

  #reportLost(event: Pick<ServiceEvent, 'id' | 'uuid'>, reason: unknown): void {
    this.#lostEvents++;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#lostReportedAtMs < retryEveryMs) return;
    this.#lostReportedAtMs = nowMs;
    const { id, uuid } = event;
    this.#options.log.error('an event could not be journalled', { id, uuid, lost: this.#lostEvents, reason });
  }
}

/** The folder of the journal inside the data folder. */
export function journalFolder(dataFolderPath: string): string {
  return join(dataFolderPath, 'journal');
}

function segmentOf(folder: string, number: number): Segment {
  return { number, path: segmentPath(folder, number) };
}
