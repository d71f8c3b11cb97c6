import type { EventPage, EventView } from '../../../console/api/schemas/events.ts';
import { make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { field, fill, filled } from '../fields.ts';
import { text } from '../language.ts';
import { listen } from '../live.ts';
import { More } from '../more.ts';
import { replayButton } from '../replay-button.ts';
import { ask, withQuery } from '../request.ts';
import { hashOf } from '../route.ts';
import { badge, heading, panel, type Stage } from '../section.ts';
import { type EventTable, eventTable, eventTime, type ListedEvent } from './event-table.ts';

/** Events that stay on the page, if the reader has not asked for more. */
const maxLive = 500;

/** Some events were left out; undefined where nobody counted. */
interface Gap {
  skipped: number | undefined;
}

/** A gap that no event has come after. */
interface OpenGap extends Gap {
  older: ListedEvent | undefined;
  link: HTMLAnchorElement;
}

/** The events as they happen, before those that were found. */
class LiveTail {
  readonly badge = badge('', 'calm');
  readonly button = makeButton('', 'pause', () => (this.#isPaused ? this.start() : this.#stop()));
  readonly #query: URLSearchParams;
  readonly #table: EventTable;
  readonly #signal: AbortSignal;
  readonly #onCut: () => void;
  #run: AbortController | undefined;
  /** ID of the last message. */
  #last: string | undefined;
  /** What is not shown yet, the oldest first. */
  #waiting: (ListedEvent | Gap)[] = [];
  #isWaitingCut = false;
  #frame = 0;
  #openGap: OpenGap | undefined;

  /** @param onCut rows at the end of the table had to go */
  constructor(query: URLSearchParams, table: EventTable, { signal, onCut }: { signal: AbortSignal; onCut: () => void }) {
    this.#query = query;
    this.#table = table;
    this.#signal = signal;
    this.#onCut = onCut;
    this.button.disabled = true;
    this.#tell(false);
  }

  /** @param after ID of the message to go on after, if it has not run before */
  start(after?: string): void {
    this.#run = new AbortController();
    this.button.disabled = false;
    this.#last ??= after;
    listen(withQuery('/api/events/live', this.#query), AbortSignal.any([this.#signal, this.#run.signal]), {
      messages: {
        message: (event: EventView, place) => this.#add({ ...event, place }, place),
        lag: ({ skipped }: { skipped: number | null }, place) => this.#lag({ skipped: skipped ?? undefined }, place),
      },
      onState: (isOpen) => this.#tell(isOpen),
      after: this.#last,
    });
    this.#tell(false);
  }

  get #isPaused(): boolean {
    return this.#run?.signal.aborted ?? false;
  }

  #stop(): void {
    this.#run?.abort();
    this.#tell(false);
  }

  #tell(isOpen: boolean): void {
    const isRunning = !this.#isPaused;
    this.badge.textContent = text(isOpen ? 'live' : isRunning ? 'connecting' : 'tailPaused');
    this.badge.className = `badge ${isOpen ? 'good' : 'warn'}`;
    this.button.replaceChildren(...makeButton(text(isRunning ? 'pause' : 'resume'), isRunning ? 'pause' : 'resume', () => {}).childNodes);
  }

  #lag(gap: Gap, place: string): void {
    this.badge.textContent = gap.skipped === undefined ? text('gapUnknown') : text('lag', { count: gap.skipped });
    this.badge.className = 'badge warn';
    this.#add(gap, place);
  }

  #add(told: ListedEvent | Gap, place: string): void {
    this.#last = place;
    this.#waiting.push(told);
    // A page that nobody sees has no frames.
    if (this.#waiting.length > 2 * maxLive) {
      this.#waiting.splice(0, maxLive);
      this.#isWaitingCut = true;
    }
    // Of a burst one frame shows all.
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#show();
    });
  }

  #show(): void {
    const waiting = this.#waiting.filter((told) => 'skipped' in told || !this.#isShown(told));
    const most = this.#isWaitingCut ? Math.min(maxLive, waiting.length) : Math.max(maxLive, this.#table.size);
    this.#waiting = [];
    this.#isWaitingCut = false;
    let isCut = false;
    for (let start = 0; start < waiting.length; ) {
      const told = waiting[start] as ListedEvent | Gap;
      if ('skipped' in told) {
        this.#showGap(
          told,
          waiting.slice(start).find((later) => 'uuid' in later),
        );
        start++;
        continue;
      }
      const gap = waiting.findIndex((later, index) => index > start && 'skipped' in later);
      const end = gap < 0 ? waiting.length : gap;
      const events = (waiting.slice(start, end) as ListedEvent[]).reverse();
      if (this.#table.prepend(events, most)) isCut = true;
      this.#openGap = undefined;
      start = end;
    }
    if (isCut) this.#onCut();
  }

  // What was found while it happened is told again, with its place.
  #isShown({ uuid, place }: ListedEvent): boolean {
    const shown = this.#table.find(uuid);
    if (shown && place) shown.place = place;
    return shown !== undefined;
  }

  #showGap({ skipped }: Gap, newer: ListedEvent | undefined): void {
    const before = this.#openGap;
    const older = before ? before.older : this.#table.ends.first;
    const count = before ? sumOf(before.skipped, skipped) : skipped;
    const link = before?.link ?? make('a');
    const span = {
      ...(older && { since: eventTime(older) }),
      ...(newer && { until: new Date(Date.parse(eventTime(newer)) + 1).toISOString() }),
    };
    link.href = hashOf('events', '', { ...Object.fromEntries(this.#query), ...span });
    link.textContent = count === undefined ? text('gapUnknown') : text('gap', { count });
    if (!before) this.#table.prependNote(link);
    this.#openGap = { skipped: count, older, link };
  }
}

function sumOf(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined || second === undefined ? undefined : first + second;
}

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
    'form.filter',
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
      'div.row.buttons',
      make('button.primary', text('search')),
      makeButton(text('clearFilter'), undefined, () => onSearch(new URLSearchParams()), 'quiet'),
    ),
  );
  fill(form, query);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    onSearch(filled(form));
  });
  const count = [...query.keys()].length;
  const summary = make('summary', count === 0 ? text('searchEvents') : text('searchEventsBy', { count }));
  // On a narrow screen the form would push what was found out of sight.
  return make('details.filter-box', { open: count > 0 || innerWidth > 900 }, summary, form);
}

/** Shows what happened, the newest first: what comes just now, and what is searched for. */
export async function showEvents({ main, route: { query }, signal }: Stage): Promise<void> {
  const table = eventTable(text('events'), text('noEvents'));
  const status = make('p.hint', { role: 'status' });
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
    panel(text(query.size > 0 ? 'found' : 'latest'), make('div.row', status, query.size > 0 && replay), table.element, more.element),
  );
  await more.load();
  // What is searched for until some time is over.
  if (query.has('until')) tail.button.hidden = tail.badge.hidden = true;
  else tail.start(found.begin);
}
