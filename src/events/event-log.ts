import type { ServiceEvent } from './event.ts';

/** A place in the journal; `event-log-file.ts` gives the text form. */
export interface LogPosition {
  /** Number of the segment. */
  segment: number;
  /** Bytes from the segment's start. */
  offset: number;
}

/** One event as read back. */
export interface LoggedEvent {
  event: ServiceEvent;
  /** Where the event begins. */
  position: LogPosition;
  /** Where the next one begins. */
  next: LogPosition;
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
  /** @throws ServiceError `storage-full` when the journal cannot take the record of a change */
  assertWritable(): void;
  /** Where the next event will begin. */
  readonly end: LogPosition;
  close(): Promise<void>;
}
