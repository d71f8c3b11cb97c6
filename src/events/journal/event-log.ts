import type { ServiceEvent } from '../event.ts';
import type { LogPosition } from './position.ts';
import type { EventSelection } from './search/event-selection.ts';

/** The JSON of what may be a selected event. */
export interface Candidate {
  /** Part of what was read at once: to be copied by who keeps it. */
  raw: Buffer;
  position: LogPosition;
  /** The group of the event's account, if it belongs to one. */
  userGroup: () => string | undefined;
  /** The node that it happened on, in the journal of several. */
  node?: string | undefined;
}

/** A part of a journal that was looked through. */
export interface CandidateBlock {
  /** The newest first. */
  candidates: Candidate[];
  /** Everything from here on was looked through. */
  from: LogPosition;
  readBytes: number;
}

/** A journal that can be looked through from its end. */
export interface NewestFirstJournal {
  /**
   * What may be selected, the newest first, with bounded memory.
   *
   * @param before begins there instead of at the end; any place will do
   * @throws ServiceError `unavailable` when the journal cannot be read at present
   */
  newestBlocks(selection: EventSelection, before?: LogPosition): AsyncIterable<CandidateBlock>;
}

/** What is known of an event beside the event object, for handlers that come to it later. */
export interface EventMarks {
  /** The group of the account, for `user_groups` filters; the event object has no such member (docs/spec/events.md#event-object). */
  group: string | undefined;
  /** The handler that a request waits for: the event is not delivered to that one in the background. */
  takenBy: string | undefined;
}

/** One event as read back. */
export interface LoggedEvent extends EventMarks {
  event: ServiceEvent;
  /** The event's JSON byte for byte, without its newline. */
  raw: Buffer;
  /** Where the event begins. */
  position: LogPosition;
  /** Where the next one begins. */
  next: LogPosition;
  /** The node that it happened on, in the journal of several. */
  node?: string | undefined;
}

/** Some events in a row. */
export interface EventBlock {
  /** Empty at the present end of the journal. */
  events: LoggedEvent[];
  /** Where to go on reading. */
  next: LogPosition;
}

/** A line of the journal that is no event, or events that are not there any more. */
export interface BadLine {
  path: string;
  /** Bytes from the start of the file. */
  offset: number;
  reason: string;
}

/** Reads a journal in order, with bounded memory. */
export interface EventReader {
  /**
   * The events from a position on, as many as are at hand. Lines that are no events are reported and skipped.
   *
   * @param from undefined for the oldest event that is kept
   */
  next(from: LogPosition | undefined): Promise<EventBlock>;
  close(): void;
}

/** A line of the journal as it stands there, without its newline: an event as a rule. */
export interface RawEvent {
  raw: Buffer;
  position: LogPosition;
  /** Where the next one begins. */
  next: LogPosition;
}

/** Lines of the journal in a row, which are at hand only when somebody asks for them. */
export interface RawBlock {
  /** Number of lines; none at the present end of the journal. */
  count: number;
  /** Length of the lines, in bytes. */
  bytes: number;
  /** Where the first begins. */
  position: LogPosition;
  /** Where to go on reading. */
  next: LogPosition;
  /** Whether this process has written them itself: they are events then. */
  isOwn: boolean;
  /** @throws ServiceError `unavailable` when they are there no more */
  events(): Promise<RawEvent[]>;
}

/** Reads a journal in order, with bounded memory and without looking at what it says. */
export interface RawReader {
  /** The lines from a position on, as many as are at hand. */
  next(from: LogPosition): Promise<RawBlock>;
  close(): void;
}

/** What lies behind a position of the journal. */
export interface Backlog {
  events: number;
  /** When the oldest of them happened, Unix time in milliseconds; undefined when there is none. */
  oldestMs: number | undefined;
}

/** Where events are written to. */
export interface EventSink {
  /**
   * Writes an event; it is synced within 100 ms. Never throws: an event of a read that cannot be written is counted and
   * logged.
   *
   * @returns where it was written, or undefined when it could not be
   */
  append(event: ServiceEvent, marks?: EventMarks): LogPosition | undefined;
  /**
   * Like `append`, in one write with all others of this turn of the event loop: for events of reads, of which there are many.
   * What is answered after `grouped` has its events in the journal.
   *
   * @param dataJson the JSON of its `data`, where that is known
   */
  appendGrouped(event: ServiceEvent, marks?: EventMarks, dataJson?: string): void;
  /** Resolves once all events so far are written; at once when none waits. Never rejects: see `append`. */
  grouped(): Promise<void> | undefined;
  /**
   * Writes an event and resolves when it is on disk. Concurrent callers share one sync.
   *
   * @returns where it stands; undefined when a journal of several nodes does not have it yet
   * @throws ServiceError `storage-full` or `internal` when it could not be written
   */
  appendDurable(event: ServiceEvent, marks?: EventMarks): Promise<LogPosition | undefined>;
  /** @throws ServiceError `storage-full` or `internal` when the journal cannot take the record of a change, which then must not be made */
  assertWritable(): void;
}

/** The journal of all events: appended before anything is delivered (docs/spec/events.md#journal). */
export interface EventLog extends EventSink, NewestFirstJournal {
  /** Where the next event will begin. */
  readonly end: LogPosition;
  /** Where it will begin, asked of the journal that several nodes write. @throws ServiceError `unavailable` */
  findEnd(): Promise<LogPosition>;
  /** How much is between a position and the end, and how old it is; for figures. */
  backlog(from: LogPosition): Promise<Backlog>;
  /** What the journal takes up, in bytes. */
  sizeBytes(): Promise<number>;
  /** @param wanted what the reader may leave out is whatever is not selected by it */
  openReader(onBadLine: (bad: BadLine) => void, wanted?: EventSelection): EventReader;
  /** For those who look at few of the events: it costs next to nothing where there are many. */
  openRawReader(): RawReader;
  /** Where to begin reading events that are not older than a time (Unix time in milliseconds); undefined for all. */
  since(sinceMs: number | undefined): LogPosition | undefined;
  /**
   * Resolves once there is something to read at or behind a position, or the journal is closed.
   *
   * @throws the signal's reason when it aborts first
   */
  waitForMore(from: LogPosition, signal?: AbortSignal): Promise<void>;
  /** Puts all events so far on disk before it returns, for a process that is about to end by a fault. @throws what writing throws */
  flushNow(): void;
  /** Syncs what is written and ends. Resolves all who wait for more. */
  close(): Promise<void>;
}
