import type { EventBlock, LoggedEvent } from './event-log.ts';
import { comparePositions, type LogPosition } from './position.ts';

/** Limits of the events kept in memory. A reader that needs older events reads the files. */
const maxBytes = 1024 * 1024;
const maxEvents = 1024;

/** Maximum number of events in one block, so that one reader does not block the event loop for long. */
const blockEvents = 256;

/** Keeps the newest events in memory, so that handlers without a backlog need not read and parse the files. */
export class RecentEvents {
  #events: LoggedEvent[] = [];
  #head = 0;
  #bytes = 0;
  readonly #readers = new Set<symbol>();

  /** Adds a reader. Events are kept while there is at least one reader. @returns a function that removes the reader */
  keep(): () => void {
    const reader = Symbol();
    this.#readers.add(reader);
    return () => {
      if (!this.#readers.delete(reader) || this.#readers.size > 0) return;
      this.#events = [];
      this.#head = 0;
      this.#bytes = 0;
    };
  }

  get isKept(): boolean {
    return this.#readers.size > 0;
  }

  add(logged: LoggedEvent): void {
    this.#events.push(logged);
    this.#bytes += logged.raw.length;
    while (this.#bytes > maxBytes || this.#events.length - this.#head > maxEvents) {
      this.#bytes -= (this.#events[this.#head] as LoggedEvent).raw.length;
      this.#head++;
    }
    if (this.#head > maxEvents) {
      this.#events = this.#events.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Returns the events from a position on; undefined if they are not in memory. */
  from(position: LogPosition): EventBlock | undefined {
    const first = this.#events[this.#head];
    if (!first || comparePositions(first.position, position) > 0) return undefined;
    const before = this.#events.findLastIndex((logged) => comparePositions(logged.position, position) < 0);
    const start = Math.max(before + 1, this.#head);
    const events = this.#events.slice(start, start + blockEvents);
    const last = events.at(-1);
    return last && { events, next: last.next };
  }
}
