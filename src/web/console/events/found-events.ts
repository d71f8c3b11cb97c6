import { sizeText } from '../../shared/locale.ts';
import type { EventItem } from '../api.ts';
import { text } from '../language.ts';
import { ask, withQuery } from '../request.ts';
import type { EventTable } from './event-table.ts';

/** A page of a search. */
interface Found {
  events: EventItem[];
  next: string | null;
  begin: string;
  searched?: { bytes: number };
  is_complete?: boolean;
}

/** The pages of a search, one after the other, at the end of a table. */
export class FoundEvents {
  /** Where the journal ended when the search began. */
  begin: string | undefined;
  readonly #query: URLSearchParams;
  readonly #table: EventTable;
  readonly #status: HTMLElement;
  readonly #signal: AbortSignal;
  /** Undefined before the first page; null behind the last one. */
  #cursor: string | null | undefined;
  #bytes = 0;

  constructor(query: URLSearchParams, table: EventTable, status: HTMLElement, signal: AbortSignal) {
    this.#query = query;
    this.#table = table;
    this.#status = status;
    this.#signal = signal;
  }

  async next() {
    let first: HTMLElement | undefined;
    // A page without events only says how far the search has come.
    do {
      const cursor = this.#cursor;
      const path = withQuery('/api/events', { ...Object.fromEntries(this.#query), cursor: cursor ?? undefined });
      const found = await ask<Found>('GET', path, { signal: this.#signal });
      // The end of the table has gone meanwhile.
      if (this.#cursor !== cursor) continue;
      this.#cursor = found.next;
      this.begin ??= found.begin;
      this.#bytes += found.searched?.bytes ?? 0;
      const events = found.events.filter(({ uuid }) => !this.#table.find(uuid));
      first = this.#table.append(events.map((event) => ({ ...event, place: found.begin })));
      this.#status.textContent = text('searched', { size: sizeText(this.#bytes) });
    } while (this.#cursor !== null && first === undefined);
    return { hasMore: this.#cursor !== null, first };
  }

  /** Has the next page begin where the table ends by now: rows at its end have gone. */
  goBack(): void {
    this.#cursor = this.#table.ends.last?.place ?? this.begin;
  }
}
