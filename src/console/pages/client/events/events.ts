import { make, makeButton } from '../../../../http/html/client/dom.ts';
import { sizeText } from '../../../../http/html/client/locale.ts';
import type { EventItem } from '../api.ts';
import { text } from '../language.ts';
import { listen } from '../live.ts';
import { More } from '../more.ts';
import { replayButton } from '../replay-button.ts';
import { ask, withQuery } from '../request.ts';
import { hashOf } from '../route.ts';
import { badge, heading, panel, type Stage } from '../section.ts';
import { eventFilter } from './event-filter.ts';
import { eventTable } from './event-table.ts';

/** Events of a live tail that stay on the page. */
const mostLive = 500;

/** A page of a search. */
interface Found {
  events: EventItem[];
  next: string | null;
  searched?: { files: number; bytes: number };
  is_complete?: boolean;
}

/** Shows what happened, the newest first: what comes just now, and what is searched for. */
export async function showEvents({ main, route: { query }, signal }: Stage): Promise<void> {
  const table = eventTable(text('events'), text('noEvents'));
  const status = make('p', { className: 'hint', attributes: { role: 'status' } });
  const search = new Search(query, table, status, signal);
  const more = new More({ next: () => search.next(), signal });
  const tail = new Tail(query, table, signal);
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
  else tail.start();
}

/** The pages of a search, one after the other. */
class Search {
  readonly #query: URLSearchParams;
  readonly #table: ReturnType<typeof eventTable>;
  readonly #status: HTMLElement;
  readonly #signal: AbortSignal;
  #cursor: string | null = null;
  #files = 0;
  #bytes = 0;

  constructor(query: URLSearchParams, table: ReturnType<typeof eventTable>, status: HTMLElement, signal: AbortSignal) {
    this.#query = query;
    this.#table = table;
    this.#status = status;
    this.#signal = signal;
  }

  async next() {
    let first: HTMLElement | undefined;
    // A page without events only says how far the search has come.
    do {
      const path = withQuery('/api/events', { ...Object.fromEntries(this.#query), cursor: this.#cursor ?? undefined });
      const found = await ask<Found>('GET', path, { signal: this.#signal });
      this.#cursor = found.next;
      this.#files += found.searched?.files ?? 0;
      this.#bytes += found.searched?.bytes ?? 0;
      first = this.#table.append(found.events);
      this.#status.textContent = text('searched', { files: this.#files, size: sizeText(this.#bytes) });
    } while (this.#cursor !== null && first === undefined);
    return { hasMore: this.#cursor !== null, first };
  }
}

/** The events as they happen, before those that were found. */
class Tail {
  readonly badge = badge('', 'calm');
  readonly button = makeButton('', 'pause', () => (this.#run ? this.#stop() : this.start()));
  readonly #query: URLSearchParams;
  readonly #table: ReturnType<typeof eventTable>;
  readonly #signal: AbortSignal;
  #run: AbortController | undefined;
  #waiting: EventItem[] = [];
  #frame = 0;

  constructor(query: URLSearchParams, table: ReturnType<typeof eventTable>, signal: AbortSignal) {
    this.#query = query;
    this.#table = table;
    this.#signal = signal;
    this.#tell(false);
  }

  start(): void {
    this.#run = new AbortController();
    listen(withQuery('/api/events/live', this.#query), AbortSignal.any([this.#signal, this.#run.signal]), {
      messages: {
        event: (event: EventItem) => this.#add(event),
        message: (event: EventItem) => this.#add(event),
        lag: ({ skipped }: { skipped?: number }) => this.#lag(skipped ?? 0),
      },
      onState: (isOpen) => this.#tell(isOpen),
    });
    this.#tell(false);
  }

  #stop(): void {
    this.#run?.abort();
    this.#run = undefined;
    this.#tell(false);
  }

  #tell(isOpen: boolean): void {
    const isRunning = this.#run !== undefined;
    this.badge.textContent = text(isOpen ? 'live' : isRunning ? 'connecting' : 'tailPaused');
    this.badge.className = `badge ${isOpen ? 'good' : 'warn'}`;
    this.button.replaceChildren(...makeButton(text(isRunning ? 'pause' : 'resume'), isRunning ? 'pause' : 'resume', () => {}).childNodes);
  }

  #add(event: EventItem): void {
    this.#waiting.unshift(event);
    if (this.#waiting.length > mostLive) this.#waiting.length = mostLive;
    // Of a burst one frame shows all.
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      const events = this.#waiting.filter(({ uuid }) => !this.#table.has(uuid));
      this.#waiting = [];
      this.#table.prepend(events, Math.max(mostLive, this.#table.size));
    });
  }

  #lag(skipped: number): void {
    this.badge.textContent = text('lag', { count: skipped });
    this.badge.className = 'badge warn';
  }
}
