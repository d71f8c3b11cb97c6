import type { EventPage } from '../../../console/api/schemas/events.ts';
import { make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { field, fill, filled } from '../fields.ts';
import { text } from '../language.ts';
import { More } from '../more.ts';
import { replayButton } from '../replay-button.ts';
import { ask, withQuery } from '../request.ts';
import { hashOf } from '../route.ts';
import { heading, panel, type Stage } from '../section.ts';
import { type EventTable, eventTable } from './event-table.ts';
import { LiveTail } from './live-tail.ts';

/** The pages of a search, one after the other, at the end of a table. */
class FoundEvents {
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
      const found = await ask<EventPage>('GET', path, { signal: this.#signal });
      // The end of the table has gone meanwhile.
      if (this.#cursor !== cursor) continue;
      this.#cursor = found.next;
      this.begin ??= found.begin;
      this.#bytes += found.searched.bytes;
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

/** The form by which events are searched for. @param onSearch gets what was filled in */
function eventFilter(query: URLSearchParams, onSearch: (query: URLSearchParams) => void): HTMLElement {
  const input = (name: string, type = 'text', more: Record<string, string> = {}) =>
    make('input', { name, type, attributes: { autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', ...more } });
  const form = make(
    'form',
    { className: 'filter' },
    field(text('text'), input('text', 'search'), 'wide'),
    field(text('account'), input('account')),
    field(text('path'), input('path')),
    field(text('eventId'), input('id', 'text', { inputmode: 'numeric' })),
    field(text('group'), input('group', 'text', { list: 'event-groups' })),
    field(text('address'), input('address')),
    field(text('requestId'), input('request_id')),
    field(text('since'), input('since', 'datetime-local', { step: '1' })),
    field(text('until'), input('until', 'datetime-local', { step: '1' })),
    make(
      'div',
      { className: 'row buttons' },
      make('button', { className: 'primary' }, text('search')),
      makeButton(text('clearFilter'), undefined, () => onSearch(new URLSearchParams()), 'quiet'),
    ),
  );
  fill(form, query);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    onSearch(filled(form));
  });
  const count = [...query.keys()].length;
  const summary = make('summary', {}, count === 0 ? text('searchEvents') : text('searchEventsBy', { count }));
  // On a narrow screen the form would push what was found out of sight.
  return make('details', { className: 'filter-box', open: count > 0 || innerWidth > 900 }, summary, form);
}

/** Shows what happened, the newest first: what comes just now, and what is searched for. */
export async function showEvents({ main, route: { query }, signal }: Stage): Promise<void> {
  const table = eventTable(text('events'), text('noEvents'));
  const status = make('p', { className: 'hint', attributes: { role: 'status' } });
  const found = new FoundEvents(query, table, status, signal);
  const more = new More({ next: () => found.next(), signal });
  const onCut = () => {
    found.goBack();
    more.offer();
  };
  const tail = new LiveTail(query, table, { signal, onCut });
  const replay = replayButton(text('replayMatching'), () => ({ filter: Object.fromEntries(query) }));
  main.append(
    heading(text('events'), tail.badge, tail.button),
    eventFilter(query, (asked) => {
      const hash = hashOf('events', '', asked);
      if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
      else location.hash = hash;
    }),
    panel(
      text(query.size > 0 ? 'found' : 'latest'),
      make('div', { className: 'row' }, status, query.size > 0 && replay),
      table.element,
      more.element,
    ),
  );
  await more.load();
  // What is searched for until some time is over.
  if (query.has('until')) tail.button.hidden = tail.badge.hidden = true;
  else tail.start(found.begin);
}
