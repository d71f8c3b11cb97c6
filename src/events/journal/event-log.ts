import type { ServiceEvent } from '../event.ts';
import type { LogPosition } from './position.ts';
import type { EventSelection } from './search/event-selection.ts';

/** The JSON of an event that may be selected. */
export interface Candidate {
  /** A view of a larger buffer: copy it to keep it. */
  raw: Buffer;
  position: LogPosition;
  /** The group of the event's account, if it belongs to one. */
  userGroup: () => string | undefined;
  /** The node that it happened on, in the journal of several. */
  node?: string | undefined;
}

/** A part of a journal that was searched. */
export interface CandidateBlock {
  /** The newest first. */
  candidates: Candidate[];
  /** Everything from here on was searched. */
  from: LogPosition;
  readBytes: number;
}

/** A journal that can be searched from its end. */
export interface NewestFirstJournal {
  /**
   * Events that may be selected, newest first, with bounded memory.
   *
   * @param before any position to begin at instead of the end
   * @throws ServiceError `unavailable` when the journal cannot be read at present
   */
  newestBlocks(selection: EventSelection, before?: LogPosition): AsyncIterable<CandidateBlock>;
}

/** Facts about an event that its object does not have, for handlers that read it later. */
export interface EventMarks {
  /** The group of the account, for `user_groups` filters; the event object has no such member (docs/spec/events.md#event-object). */
  group: string | undefined;
  /** The handler that a request waits for: it does not get the event in the background. */
  takenBy: string | undefined;
}

/** A line of the journal without its newline, usually an event. */
export interface RawEvent {
  raw: Buffer;
  position: LogPosition;
  /** Offset of the next line. */
  next: LogPosition;
}

/** One event as read back. */
export interface LoggedEvent extends RawEvent, EventMarks {
  event: ServiceEvent;
  /** The node that it happened on, in the journal of several. */
  node?: string | undefined;
}

/** Some events in a row. */
export interface EventBlock {
  /** Empty at the present end of the journal. */
  events: LoggedEvent[];
  /** Position to continue reading at. */
  next: LogPosition;
}

/** A line of the journal that is no event, or a gap. */
export interface BadLine {
  path: string;
  /** Bytes from the start of the file. */
  offset: number;
  reason: string;
}

/** Reads a journal in order, with bounded memory. */
export interface EventReader {
  /** The next events from a position on. Lines that are no events are reported and skipped. @param from undefined for the oldest event */
  next(from: LogPosition | undefined): Promise<EventBlock>;
  close(): void;
}

/** Lines of the journal in a row, which are read only on demand. */
export interface RawBlock {
  /** Number of lines; 0 at the present end of the journal. */
  count: number;
  /** Length of the lines, in bytes. */
  bytes: number;
  position: LogPosition;
  /** Position to continue reading at. */
  next: LogPosition;
  /** Whether this process has written them: they are events then. */
  isOwn: boolean;
  /** @throws ServiceError `unavailable` when they are gone */
  events(): Promise<RawEvent[]>;
}

/** Reads the lines of a journal in order, with bounded memory and without parsing them. */
export interface RawReader {
  next(from: LogPosition): Promise<RawBlock>;
  close(): void;
}

/** The events behind a position of the journal. */
export interface Backlog {
  events: number;
  /** When the oldest of them happened, Unix time in milliseconds; undefined when there is none. */
  oldestMs: number | undefined;
}

/** Takes events. */
export interface EventSink {
  /**
   * Writes an event; it is synced within 100 ms. Never throws: an event that cannot be written is counted and logged.
   *
   * @returns its position, or undefined when it could not be written
   */
  append(event: ServiceEvent, marks?: EventMarks): LogPosition | undefined;
  /**
   * Like `append`, in one write with all others of this turn of the event loop, for the many events of reads. A reply after
   * `grouped` has its events in the journal.
   *
   * @param dataJson the JSON of its `data`, where that is known
   */
  appendGrouped(event: ServiceEvent, marks?: EventMarks, dataJson?: string): void;
  /** Resolves once all events so far are written; undefined when none waits. Never rejects: see `append`. */
  grouped(): Promise<void> | undefined;
  /**
   * Writes an event and resolves when it is on disk. Concurrent callers share one sync.
   *
   * @param dataJson the JSON of its `data`, where that is known
   * @returns its position; undefined when a journal of several nodes does not have it yet
   * @throws ServiceError `storage-full` or `internal` when it could not be written
   */
  appendDurable(event: ServiceEvent, marks?: EventMarks, dataJson?: string): Promise<LogPosition | undefined>;
  /**
   * Resolves once every node can read all events so far, however long the journal of all nodes is away.
   *
   * @throws ServiceError `unavailable` when the journal is closed before
   */
  untilShared(): Promise<void>;
  /** @throws ServiceError `storage-full` or `internal` when the journal cannot record a change, which then must not be made */
  assertWritable(): void;
}

/** The journal of all events, written before anything is delivered (docs/spec/events.md#journal). */
export interface EventLog extends EventSink, NewestFirstJournal {
  /** Where the next event will begin. */
  readonly end: LogPosition;
  /** Like `end`, read anew from a journal that several nodes write. @throws ServiceError `unavailable` */
  findEnd(): Promise<LogPosition>;
  /** The events between a position and the end, for figures. */
  backlog(from: LogPosition): Promise<Backlog>;
  /** Size of the journal, in bytes. */
  sizeBytes(): Promise<number>;
  /** @param wanted lets the reader leave out other events */
  openReader(onBadLine: (bad: BadLine) => void, wanted?: EventSelection): EventReader;
  /** For callers that read few of the events: unread lines cost next to nothing. */
  openRawReader(): RawReader;
  /** Where to begin reading events that are not older than a time (Unix time in milliseconds); undefined for all. */
  since(sinceMs: number | undefined): LogPosition | undefined;
  /** Resolves once there is something to read at or behind a position, or the journal is closed. @throws the signal's reason */
  waitForMore(from: LogPosition, signal?: AbortSignal): Promise<void>;
  /** Puts all events so far on disk before it returns, for a process that ends by a fault. */
  flushNow(): void;
  /** Syncs all events and ends. Resolves all waits for more. */
  close(): Promise<void>;
}
