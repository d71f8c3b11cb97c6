import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders } from '../../lib/disk/durable-files.ts';
import type { ServiceEvent } from '../event.ts';
import { eventJson, isSpecialAccount } from '../event-factory.ts';
import { eventIds } from '../event-ids.ts';
import type { Backlog, BadLine, CandidateBlock, EventLog, EventMarks, EventReader, RawReader, Suffices } from './event-log.ts';
import { type EvidenceOptions, JournalEvidence } from './evidence.ts';
import { Growth } from './growth.ts';
import { comparePositions, type LogPosition } from './position.ts';
import { RecentBlocks, rawJournalReader } from './raw-reader.ts';
import { JournalReader, measureBacklog } from './reader.ts';
import { RecentEvents } from './recent.ts';
import { JournalReserve } from './reserve.ts';
import type { EventSelection } from './search/event-selection.ts';
import { newestBlocks, SelectiveReader } from './search/selective-reader.ts';
import { Summariser } from './search/summariser.ts';
import { SegmentChain, type SegmentChainOptions } from './segment-chain.ts';
import { isDiskFull, journalFault, journalFull, orEndProcess } from './segment-writer.ts';
import { eventsSince } from './segments.ts';

const noMarks: EventMarks = { group: undefined, takenBy: undefined };

/** Minimum time between two log entries about lost events, in milliseconds. */
const reportEveryMs = 1000;

interface WaitingLine {
  event: ServiceEvent;
  marks: EventMarks;
  /** Whether the event belongs to an account, not to the process or to an unknown client. */
  hasAccount: boolean;
  /** The JSON of the event, with a newline. */
  text: string;
  sizeBytes: number;
}

function serialiseLine(event: ServiceEvent, marks = noMarks, dataJson?: string): WaitingLine {
  const text = `${eventJson(event, dataJson)}\n`;
  return { event, marks, hasAccount: !isSpecialAccount(event.account.uuid), text, sizeBytes: Buffer.byteLength(text) };
}

export interface FileEventLogOptions extends SegmentChainOptions {
  /** Whether to write summary files for fast searches. */
  hasSummaries?: boolean;
  /** Options of the signed checkpoints, which prove that the journal was not changed. If undefined, no checkpoints are written. */
  evidence?: Pick<EvidenceOptions, 'keyPath' | 'onCheckpoint'>;
}

const checkpointId = String(eventIds.journalCheckpoint);

/**
 * Stores the journal in NDJSON files. Each append is one synchronous write of a few microseconds, so a killed process loses no appended
 * event. Grouped events are written together at the end of a turn of the event loop. Concurrent calls of `appendDurable` share a sync.
 */
export class FileEventLog implements EventLog {
  readonly #options: FileEventLogOptions;
  readonly #reserve: JournalReserve;
  readonly #segments: SegmentChain;
  readonly #evidence: JournalEvidence | undefined;
  readonly #growth = new Growth(() => this.end);
  readonly #recent = new RecentEvents();
  readonly #recentBlocks = new RecentBlocks();
  readonly #summariser: Summariser | undefined;
  #isWaking = false;
  #group: WaitingLine[] = [];
  #groupWritten: Promise<void> | undefined;
  #lostEvents = 0;
  #lostReportedAtMs = Number.NEGATIVE_INFINITY;

  /** Opens the journal, repairs its end, and removes files past their retention. */
  constructor(options: FileEventLogOptions) {
    this.#options = options;
    const { folder, clock, log } = options;
    makeFolders(folder, { mode: 0o700 });
    this.#reserve = new JournalReserve(folder, clock, log);
    const beforeRemoval = options.evidence && ((upTo: number) => this.#removing(upTo));
    this.#segments = new SegmentChain(beforeRemoval ? { ...options, beforeRemoval } : options);
    if (options.evidence) this.#evidence = new JournalEvidence({ ...options.evidence, folder, clock, log }, this.end);
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

  append(event: ServiceEvent, marks?: EventMarks): LogPosition | undefined {
    try {
      this.#assertRoomForReads();
      const position = this.#appendLine(serialiseLine(event, marks));
      this.#segments.writer.syncSoon();
      return position;
    } catch (error) {
      this.#reportLost(event, error);
      return undefined;
    }
  }

  appendGrouped(event: ServiceEvent, marks?: EventMarks, dataJson?: string): void {
    this.#group.push(serialiseLine(event, marks, dataJson));
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

  async appendDurable(event: ServiceEvent, marks?: EventMarks, dataJson?: string): Promise<LogPosition> {
    const position = this.#appendLine(serialiseLine(event, marks, dataJson));
    try {
      await this.#segments.writer.synced();
    } catch (error) {
      throw journalFault(error);
    }
    return position;
  }

  /** Resolves immediately, because no other node reads this journal. */
  async untilShared(): Promise<void> {}

  assertWritable(): void {
    if (!this.#reserve.isHeld()) throw journalFull();
    journalled(() => this.#segments.assertWritable());
  }

  backlog(from: LogPosition): Promise<Backlog> {
    return measureBacklog(this.#options.folder, from, this.end);
  }

  async sizeBytes(): Promise<number> {
    const { folder } = this.#options;
    return readdirSync(folder).reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);
  }

  openReader(onBadLine: (bad: BadLine) => void, wanted?: EventSelection): EventReader {
    const { folder } = this.#options;
    const reader = wanted ? new SelectiveReader(folder, wanted, onBadLine) : new JournalReader(folder, onBadLine);
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

  newestBlocks(selection: EventSelection, before?: LogPosition, suffices?: Suffices): AsyncIterable<CandidateBlock> {
    return newestBlocks(this.#options.folder, selection, before, suffices);
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
    await this.#evidence?.close();
    if (this.#lostEvents > 0) this.#options.log.error('events could not be journalled', { lost: this.#lostEvents });
    await this.#segments.close().catch((error) => Promise.reject(journalFault(error)));
  }

  #appendLine(line: WaitingLine): LogPosition {
    this.#writeGroup();
    return this.#appendLines([line], Buffer.from(line.text));
  }

  #writeGroup(): void {
    const lines = this.#group;
    this.#group = [];
    this.#groupWritten = undefined;
    if (lines.length === 0) return;
    try {
      this.#assertRoomForReads();
      let text = '';
      for (const line of lines) text += line.text;
      this.#appendLines(lines, Buffer.from(text));
      this.#segments.writer.syncSoon();
    } catch (error) {
      for (const { event } of lines) this.#reportLost(event, error);
    }
  }

  // On a full disk, half of the reserve is kept for changes that are in progress. Events about reading cannot use that half.
  #assertRoomForReads(): void {
    if (!this.#reserve.hasRoomForReads && !this.#reserve.isHeld()) throw journalFull();
  }

  #appendLines(lines: readonly WaitingLine[], bytes: Buffer): LogPosition {
    return orEndProcess(() => {
      journalled(() => this.#segments.rotateFor(bytes.length));
      const position = this.end;
      try {
        this.#write(lines, bytes);
      } catch (error) {
        if (!isDiskFull(error) || !this.#reserve.release()) throw journalFault(error);
        this.#options.log.error('the disk of the journal is full; changes are refused until there is space');
        journalled(() => this.#write(lines, bytes));
      }
      this.#reserve.countUse(bytes.length);
      this.#evidence?.add(position.segment, bytes, lines.length === 1 && lines[0]?.event.id === checkpointId);
      this.#recentBlocks.add(position, bytes.length, lines.length);
      if (this.#recent.isKept) this.#keepRecent(lines, bytes, position);
      if (this.#growth.isAwaited) this.#wakeSoon();
      return position;
    });
  }

  #write(lines: readonly WaitingLine[], bytes: Buffer): void {
    let { offset } = this.end;
    for (const { event, marks, hasAccount, sizeBytes } of lines) {
      this.#segments.writer.mark(offset, event.uuid, marks, hasAccount);
      offset += sizeBytes;
    }
    this.#segments.writer.append(bytes);
  }

  // The constructor of SegmentChain may call this before `#evidence` is set. The `await` lets the constructor of this class end first.
  async #removing(upTo: number): Promise<void> {
    await Promise.resolve();
    await this.#evidence?.removing(upTo);
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

  // Wakes the readers when the current request has done its work, and only once for all its events.
  #wakeSoon(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      this.#growth.wake();
    });
  }

  #reportLost({ id, uuid }: ServiceEvent, reason: unknown): void {
    this.#lostEvents++;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#lostReportedAtMs < reportEveryMs) return;
    this.#lostReportedAtMs = nowMs;
    this.#options.log.error('an event could not be journalled', { id, uuid, lost: this.#lostEvents, reason });
  }
}

/** Runs an action on the journal. @throws ServiceError `storage-full` or `internal` for any error of the action */
function journalled(action: () => void): void {
  try {
    action();
  } catch (error) {
    throw journalFault(error);
  }
}

/** Returns the folder of the journal inside the data folder. */
export function journalFolder(dataFolderPath: string): string {
  return join(dataFolderPath, 'journal');
}

/** Returns the path of the private key that signs the checkpoints of the journal. */
export function journalKeyPath(dataFolder: string): string {
  return join(dataFolder, 'journal.key');
}
