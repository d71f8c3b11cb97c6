import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders } from '../../lib/disk/durable-files.ts';
import type { ServiceEvent } from '../event.ts';
import { measureBacklog } from './backlog.ts';
import type { Backlog, BadLine, CandidateBlock, EventLog, EventMarks, EventReader, RawReader } from './event-log.ts';
import { Growth } from './growth.ts';
import { countLines } from './lines.ts';
import { comparePositions, type LogPosition } from './position.ts';
import { RecentBlocks, rawJournalReader } from './raw-reader.ts';
import { JournalReader } from './reader.ts';
import { RecentEvents } from './recent.ts';
import { JournalReserve } from './reserve.ts';
import type { EventSelection } from './search/event-selection.ts';
import { newestBlocks } from './search/newest-blocks.ts';
import { SelectiveReader } from './search/selective-reader.ts';
import { Summariser } from './search/summariser.ts';
import { SegmentChain, type SegmentChainOptions } from './segment-chain.ts';
import { isDiskFull, journalFault, journalFull, orEndProcess } from './segment-writer.ts';
import { eventsSince } from './segments.ts';
import { lineOf, serialisedEvents, type WaitingLine } from './serialised.ts';

const noMarks: EventMarks = { group: undefined, takenBy: undefined };

/** How often lost events are reported. */
const reportEveryMs = 1000;

export interface FileEventLogOptions extends SegmentChainOptions {
  /** Has summaries written beside the files, by which searches are fast. */
  hasSummaries?: boolean;
}

/**
 * The journal in NDJSON files. Appending is one synchronous write of a few microseconds, so that a killed process loses
 * nothing; `appendDurable` waits for a sync that all callers of the meantime share.
 */
export class FileEventLog implements EventLog {
  readonly #options: FileEventLogOptions;
  readonly #reserve: JournalReserve;
  readonly #segments: SegmentChain;
  readonly #growth = new Growth(() => this.end);
  readonly #recent = new RecentEvents();
  readonly #recentBlocks = new RecentBlocks();
  readonly #summariser: Summariser | undefined;
  #isWaking = false;
  #group: WaitingLine[] = [];
  #groupWritten: Promise<void> | undefined;
  #lostEvents = 0;
  #lostReportedAtMs = Number.NEGATIVE_INFINITY;

  /** Opens the journal, repairs its end, and removes what is past its retention. */
  constructor(options: FileEventLogOptions) {
    this.#options = options;
    const { folder, clock, log } = options;
    makeFolders(folder, { mode: 0o700 });
    this.#reserve = new JournalReserve(folder, clock, log);
    this.#segments = new SegmentChain(options);
    if (options.hasSummaries) this.#summariser = new Summariser({ folder, clock, log });
  }

  get end(): LogPosition {
    return this.#segments.end;
  }

  async findEnd(): Promise<LogPosition> {
    return this.end;
  }

  since(sinceMs: number | undefined): LogPosition | undefined {
    return eventsSince(this.#options.folder, sinceMs);
  }

  append(event: ServiceEvent, marks: EventMarks = noMarks): LogPosition | undefined {
    try {
      // When the disk is full, half of the reserve is for changes under way: reads alone must not use it up.
      if (!this.#reserve.hasRoomForReads && !this.#reserve.isHeld()) throw journalFull();
      const position = this.#appendLine(lineOf(event, marks));
      this.#segments.writer.syncSoon();
      return position;
    } catch (error) {
      this.#reportLost(event, error);
      return undefined;
    }
  }

  appendGrouped(event: ServiceEvent, marks: EventMarks = noMarks, dataJson?: string): void {
    this.#group.push(lineOf(event, marks, dataJson));
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
      await this.#segments.writer.synced();
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
      const position = this.#appendBytes(lines, (offset) => this.#segments.writer.mark(offset, '', marks, group !== undefined));
      if (this.#recentBlocks.isKept) this.#recentBlocks.add(position, lines.length, countLines(lines));
      if (this.#recent.isKept) for (const logged of serialisedEvents(lines, position, marks.group)) this.#recent.add(logged);
    });
    if (this.#growth.isAwaited) this.#wakeSoon();
    if (kind !== 'reads') return this.#segments.writer.synced().catch((error) => Promise.reject(journalFault(error)));
    this.#segments.writer.syncSoon();
    return Promise.resolve();
  }

  /** Counts and logs an event of a read that could not be written. */
  noteLost(event: Pick<ServiceEvent, 'id' | 'uuid'>, error: unknown): void {
    this.#reportLost(event, error);
  }

  assertWritable(): void {
    if (!this.#reserve.isHeld()) throw journalFull();
    this.#segments.assertWritable();
  }

  async backlog(from: LogPosition): Promise<Backlog> {
    return measureBacklog(this.#options.folder, from, this.end);
  }

  async sizeBytes(): Promise<number> {
    const { folder } = this.#options;
    return readdirSync(folder).reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);
  }

  openReader(onBadLine: (bad: BadLine) => void, wanted?: EventSelection): EventReader {
    const reader = wanted
      ? new SelectiveReader(this.#options.folder, wanted, onBadLine)
      : new JournalReader(this.#options.folder, onBadLine);
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

  openRawReader(): RawReader {
    return rawJournalReader(this.#options.folder, this.#recentBlocks, () => this.end);
  }

  newestBlocks(selection: EventSelection, before?: LogPosition): AsyncIterable<CandidateBlock> {
    return newestBlocks(this.#options.folder, selection, before);
  }

  waitForMore(from: LogPosition, signal?: AbortSignal): Promise<void> {
    return this.#growth.beyond(from, signal);
  }

  flushNow(): void {
    this.#writeGroup();
    this.#segments.writer.syncNow();
  }

  async close(): Promise<void> {
    this.#writeGroup();
    this.#growth.close();
    await this.#summariser?.close();
    if (this.#lostEvents > 0) this.#options.log.error('events could not be journalled', { lost: this.#lostEvents });
    await this.#segments.close();
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
      this.#segments.writer.syncSoon();
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
          this.#segments.writer.mark(offset, event.uuid, marks, hasAccount);
          offset += sizeBytes;
        }
      });
      if (this.#recentBlocks.isKept) this.#recentBlocks.add(position, bytes.length, lines.length);
      if (this.#recent.isKept) this.#keepRecent(lines, bytes, position);
      if (this.#growth.isAwaited) this.#wakeSoon();
      return position;
    });
  }

  /** @param mark writes the marks of what begins at an offset of the segment */
  #appendBytes(bytes: Buffer, mark: (offset: number) => void): LogPosition {
    this.#segments.rotateFor(bytes.length);
    const position = this.end;
    const write = () => {
      mark(position.offset);
      this.#segments.writer.append(bytes);
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
      this.#growth.wake();
    });
  }

  #reportLost(event: Pick<ServiceEvent, 'id' | 'uuid'>, reason: unknown): void {
    this.#lostEvents++;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#lostReportedAtMs < reportEveryMs) return;
    this.#lostReportedAtMs = nowMs;
    const { id, uuid } = event;
    this.#options.log.error('an event could not be journalled', { id, uuid, lost: this.#lostEvents, reason });
  }
}

/** The folder of the journal inside the data folder. */
export function journalFolder(dataFolderPath: string): string {
  return join(dataFolderPath, 'journal');
}
