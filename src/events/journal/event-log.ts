import type { ServiceEvent } from '../event.ts';
import type { LogPosition } from './position.ts';
import type { EventSelection } from './search/event-selection.ts';

/** The JSON of an event that may match a selection. The caller still has to check whether it matches. */
export interface Candidate {
  /** A view of a larger buffer. Copy it to keep it. */
  raw: Buffer;
  position: LogPosition;
  userGroup: () => string | undefined;
  node?: string | undefined;
}

export interface CountedBlock {
  /** Times of its first and last events, Unix time in milliseconds. */
  firstMs: number;
  lastMs: number;
  /** Number of events by ID. */
  counts: Readonly<Record<string, number>>;
}

/** A part of a journal that was searched. */
export interface CandidateBlock {
  /** Set if the events of the part were only counted. In that case, the part has no candidates. */
  counted?: CountedBlock | undefined;
  /** Events that may match, newest first. */
  candidates: Candidate[];
  from: LogPosition;
  readBytes: number;
}

/** Decides whether the counts of the events in a part of a journal are enough, so that the part need not be read. */
export type Suffices = (block: CountedBlock) => boolean;

/** A journal that can be searched from its end. */
export interface NewestFirstJournal {
  /**
   * Finds events that may match a selection, newest first, with bounded memory.
   *
   * @param before position to begin at instead of the end of the journal
   * @param suffices whether the counts of a part's events are enough; if so, the part is not read. A journal without summaries reads all
   *   parts
   * @throws ServiceError `unavailable` when the journal cannot be read at present
   */
  newestBlocks(selection: EventSelection, before?: LogPosition, suffices?: Suffices): AsyncIterable<CandidateBlock>;
}

/** Data about an event that handlers need later and that the event object does not contain. */
export interface EventMarks {
  /** The group of the account, for `user_groups` filters. The event object has no such member (docs/spec/events.md#event-object). */
  group: string | undefined;
  /**
   * The handler to which a request sends the event, and for whose answer the request waits. This handler does not get the event again
   * later.
   */
  takenBy: string | undefined;
}

/** A line of the journal without its newline, usually an event. */
export interface RawEvent {
  raw: Buffer;
  position: LogPosition;
  /** Position of the next line. */
  next: LogPosition;
}

export interface LoggedEvent extends RawEvent, EventMarks {
  event: ServiceEvent;
  /** The node on which the event happened; only in a journal of several nodes. */
  node?: string | undefined;
}

/** Consecutive events. */
export interface EventBlock {
  /** Empty at the current end of the journal. */
  events: LoggedEvent[];
  next: LogPosition;
}

/** A line of the journal that is not an event, or a gap in the journal. */
export interface BadLine {
  path: string;
  /** Bytes from the start of the file. */
  offset: number;
  reason: string;
}

export interface EventReader {
  /** Reads the next events. Lines that are not events are reported and skipped. @param from undefined begins at the oldest event */
  next(from: LogPosition | undefined): Promise<EventBlock>;
  close(): void;
}

/** Consecutive lines of the journal. They are read only when `events` is called. */
export interface RawBlock {
  /** Number of lines; 0 at the current end of the journal. */
  count: number;
  /** Total length of the lines, in bytes. */
  bytes: number;
  position: LogPosition;
  next: LogPosition;
  /** Whether this process has written the lines, so that all of them are valid events. */
  isOwn: boolean;
  /** Reads the lines. @throws ServiceError `unavailable` when the journal no longer has them */
  events(): Promise<RawEvent[]>;
}

/** Reads the lines of a journal in order, with bounded memory and without parsing them. */
export interface RawReader {
  next(from: LogPosition): Promise<RawBlock>;
  close(): void;
}

/** The number and age of the events after a position in the journal. */
export interface Backlog {
  events: number;
  /** Unix time of the oldest of these events in milliseconds; undefined when there are none. */
  oldestMs: number | undefined;
}

/** Writes events to the journal. */
export interface EventSink {
  /**
   * Writes an event and syncs it within 100 ms. It never throws: an event that cannot be written is counted and logged.
   *
   * @returns its position, or undefined when it could not be written
   */
  append(event: ServiceEvent, marks?: EventMarks): LogPosition | undefined;
  /**
   * Like `append`, but writes all events of this turn of the event loop together. It is meant for requests that only read, because they
   * cause many events. A reply that depends on the events must wait for `grouped`.
   *
   * @param dataJson the JSON of the event's `data`, if the caller has it
   */
  appendGrouped(event: ServiceEvent, marks?: EventMarks, dataJson?: string): void;
  /** Resolves when all grouped events so far are written. Never rejects (see `append`). @returns undefined if none is waiting */
  grouped(): Promise<void> | undefined;
  /**
   * Writes an event and resolves when it is on disk. Concurrent calls share one sync.
   *
   * @param dataJson the JSON of the event's `data`, if the caller has it
   * @returns its position; undefined when the shared journal of several nodes does not have it yet
   * @throws ServiceError `storage-full` or `internal` when it could not be written
   */
  appendDurable(event: ServiceEvent, marks?: EventMarks, dataJson?: string): Promise<LogPosition | undefined>;
  /**
   * Resolves when every node can read all events so far. While the shared journal cannot be reached, it waits without limit.
   *
   * @throws ServiceError `unavailable` if the journal is closed first
   */
  untilShared(): Promise<void>;
  /**
   * Must be called before a change is made. @throws ServiceError `storage-full` or `internal` if the journal could not record the change
   */
  assertWritable(): void;
}

/** The journal of all events. An event is written here before it is delivered (docs/spec/events.md#journal). */
export interface EventLog extends EventSink, NewestFirstJournal {
  /** Position at which the next event will begin. */
  readonly end: LogPosition;
  /**
   * Like `end`, but includes the events of other nodes. @throws ServiceError `unavailable` if the shared journal cannot be read
   */
  findEnd(): Promise<LogPosition>;
  /** Counts the events between a position and the end, for metrics. */
  backlog(from: LogPosition): Promise<Backlog>;
  sizeBytes(): Promise<number>;
  /** Opens a reader. @param wanted allows the reader to skip events that do not match */
  openReader(onBadLine: (bad: BadLine) => void, wanted?: EventSelection): EventReader;
  /** Opens a reader for callers that need few of the events. Lines cost almost nothing if their events are not requested. */
  openRawReader(): RawReader;
  /**
   * Finds the position from which to read all events since a time.
   *
   * @param sinceMs Unix time in milliseconds; undefined for all events
   * @returns undefined to begin at the oldest event
   */
  since(sinceMs: number | undefined): LogPosition | undefined;
  /** Resolves when there is an event at or after a position, or when the journal is closed. @throws the signal's reason if it aborts */
  waitForMore(from: LogPosition, signal?: AbortSignal): Promise<void>;
  /** Syncs all events so far to disk before it returns, for a process that ends because of a fault. */
  flushNow(): void;
  /** Syncs all events, closes the journal, and resolves all calls of `waitForMore`. */
  close(): Promise<void>;
}
