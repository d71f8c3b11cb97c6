import type { ServiceEvent } from './event.ts';
import type { LogPosition } from './event-log-position.ts';

/** One event as read back. */
export interface LoggedEvent {
  event: ServiceEvent;
  /** The event's JSON byte for byte, without its newline; a view that is to be copied when it is kept. */
  raw: Buffer;
  /** Where the event begins. */
  position: LogPosition;
  /** Where the next one begins. */
  next: LogPosition;
}

/** A line of the journal that is no event. */
export interface BadLine {
  path: string;
  /** Bytes from the start of the file. */
  offset: number;
  reason: string;
}

/** The journal of all events: appended before anything is delivered (decisions.md 2, "The journal"). */
export interface EventLog {
  /**
   * Writes an event; it is with the kernel when this returns, so that a killed process loses nothing, and on disk within
   * 100 ms. Where the journal cannot take it, it is counted and logged: an event of a read never fails a request.
   *
   * @returns where the event begins, or undefined when it could not be written
   */
  append(event: ServiceEvent): LogPosition | undefined;
  /**
   * Writes an event; it is on disk when the promise resolves. Concurrent callers share one sync.
   *
   * @throws ServiceError `storage-full` or `internal` when it could not be written
   */
  appendDurable(event: ServiceEvent): Promise<LogPosition>;
  /** @throws ServiceError `storage-full` or `internal` when the journal cannot take the record of a change, which then must not be made */
  assertWritable(): void;
  /** Where the next event will begin. */
  readonly end: LogPosition;
  /**
   * Reads from a position to the present end, in order, with bounded memory. Lines that are no events are reported and
   * skipped.
   *
   * @param from where to begin; undefined for the oldest event that is kept
   */
  read(from: LogPosition | undefined, onBadLine: (bad: BadLine) => void): AsyncIterable<LoggedEvent>;
  /**
   * Resolves once there is something to read at or behind a position, or the journal is closed.
   *
   * @throws the signal's reason when it aborts first
   */
  waitForMore(from: LogPosition, signal?: AbortSignal): Promise<void>;
  /** Syncs what is written and ends. Resolves all who wait for more. */
  close(): Promise<void>;
}
