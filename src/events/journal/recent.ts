import type { EventBlock, LoggedEvent } from './event-log.ts';
import { comparePositions, type LogPosition } from './position.ts';

/** Events that are kept: a reader further behind reads the files. */
const maxBytes = 1024 * 1024;
const maxEvents = 1024;

/** Events of one block, so that a reader leaves room for others. */
const blockEvents = 256;

/** The newest events, so that handlers that keep up need not read them back and parse them. */
export class RecentEvents {
  #events: LoggedEvent[] = [];
  #head = 0;
  #bytes = 0;
  readonly #readers = new Set<symbol>();

  /** Keeps events while there is a reader. @returns a function that ends it */
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

  /** @returns undefined when events from that position on are not at hand */
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
