import type { EventPage, EventView } from '../../../console/api/schemas/events.ts';
import { icon, make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { field, filterForm } from '../fields.ts';
import { text } from '../language.ts';
import { listen } from '../live.ts';
import { growingEnd } from '../more.ts';
import { replayButton } from '../replay-button.ts';
import { ask, withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { badge, heading, panel, type Stage } from '../section.ts';
import { type EventTable, eventTable, eventTime, type ListedEvent } from './event-table.ts';

/** Events that stay on the page, if the reader has not asked for more. */
const maxLive = 500;

/** Events that were left out; undefined when their number is unknown. */
interface Gap {
  skipped: number | undefined;
}

/** The latest gap, before an event follows it. */
interface OpenGap extends Gap {
  older: ListedEvent | undefined;
  link: HTMLAnchorElement;
}

/** Shows live events, before those that were found. @param onCut called when rows at the end of the table were removed */
function liveTail(query: URLSearchParams, table: EventTable, signal: AbortSignal, onCut: () => void) {
  const state = badge('', 'calm');
  const button = makeButton('', 'pause', () => (isPaused() ? start() : stop()));
  let run: AbortController | undefined;
  let last: string | undefined;
  /** Not shown yet, oldest first. */
  let waiting: (ListedEvent | Gap)[] = [];
  let isWaitingCut = false;
  let frame = 0;
  let openGap: OpenGap | undefined;
  const isPaused = () => run?.signal.aborted ?? false;

  /** @param after ID of the message to continue after at the first start */
  const start = (after?: string) => {
    run = new AbortController();
    button.disabled = false;
    last ??= after;
    listen(withQuery('/api/events/live', query), AbortSignal.any([signal, run.signal]), {
      messages: {
        message: (event: EventView, place) => add({ ...event, place }, place),
        lag: ({ skipped }: { skipped: number | null }, place) => {
          state.textContent = skipped === null ? text('gapUnknown') : text('lag', { count: skipped });
          state.className = 'badge warn';
          add({ skipped: skipped ?? undefined }, place);
        },
      },
      onState: showState,
      after: last,
    });
    showState(false);
  };

  const stop = () => {
    run?.abort();
    showState(false);
  };

  const showState = (isOpen: boolean) => {
    const action = isPaused() ? 'resume' : 'pause';
    state.textContent = text(isOpen ? 'live' : isPaused() ? 'tailPaused' : 'connecting');
    state.className = `badge ${isOpen ? 'good' : 'warn'}`;
    button.replaceChildren(icon(action), text(action));
  };

  const add = (told: ListedEvent | Gap, place: string) => {
    last = place;
    waiting.push(told);
    // A hidden page has no frames.
    if (waiting.length > 2 * maxLive) {
      waiting.splice(0, maxLive);
      isWaitingCut = true;
    }
    // One frame shows a whole burst.
    if (frame > 0) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      show();
    });
  };

  const show = () => {
    const told = waiting.filter((one) => 'skipped' in one || !isShown(one));
    const maxRows = isWaitingCut ? Math.min(maxLive, told.length) : Math.max(maxLive, table.size);
    waiting = [];
    isWaitingCut = false;
    let isCut = false;
    for (let start = 0; start < told.length; ) {
      const first = told[start] as ListedEvent | Gap;
      if ('skipped' in first) {
        const newer = told.slice(start).find((later) => 'uuid' in later);
        showGap(first, newer);
        start++;
        continue;
      }
      const gap = told.findIndex((later, index) => index > start && 'skipped' in later);
      const end = gap < 0 ? told.length : gap;
      if (table.prepend((told.slice(start, end) as ListedEvent[]).reverse(), maxRows)) isCut = true;
      openGap = undefined;
      start = end;
    }
    if (isCut) onCut();
  };

  // An event that the search found while it happened arrives again, with its position.
  const isShown = ({ uuid, place }: ListedEvent) => {
    const shown = table.find(uuid);
    if (shown && place) shown.place = place;
    return shown !== undefined;
  };

  const showGap = ({ skipped }: Gap, newer: ListedEvent | undefined) => {
    const older = openGap ? openGap.older : table.ends.first;
    const before = openGap ? openGap.skipped : 0;
    const count = before === undefined || skipped === undefined ? undefined : before + skipped;
    const link = openGap?.link ?? make('a');
    const span = {
      ...(older && { since: eventTime(older) }),
      ...(newer && { until: new Date(Date.parse(eventTime(newer)) + 1).toISOString() }),
    };
    link.href = hashFor('events', '', { ...Object.fromEntries(query), ...span });
    link.textContent = count === undefined ? text('gapUnknown') : text('gap', { count });
    if (!openGap) table.prependNote(link);
    openGap = { skipped: count, older, link };
  };

  button.disabled = true;
  showState(false);
  return { badge: state, button, start };
}

/** The pages of a search, one after the other, at the end of a table. */
function searchEvents(query: URLSearchParams, table: EventTable, status: HTMLElement, signal: AbortSignal) {
  /** Undefined before the first page; null behind the last one. */
  let cursor: string | null | undefined;
  let bytes = 0;
  const search = {
    /** End of the journal when the search began. */
    begin: undefined as string | undefined,
    next: async () => {
      let first: HTMLElement | undefined;
      // A page without events only says how far the search has come.
      do {
        const asked = cursor;
        const path = withQuery('/api/events', { ...Object.fromEntries(query), cursor: asked ?? undefined });
        const found = await ask<EventPage>('GET', path, { signal });
        // The end of the table has gone meanwhile.
        if (cursor !== asked) continue;
        cursor = found.next;
        search.begin ??= found.begin;
        bytes += found.searched.bytes;
        const events = found.events.filter(({ uuid }) => !table.find(uuid));
        first = table.append(events.map((event) => ({ ...event, place: found.begin })));
        status.textContent = text('searched', { size: sizeText(bytes) });
      } while (cursor !== null && first === undefined);
      return { hasMore: cursor !== null, first };
    },
    /** Has the next page begin where the table ends by now: rows at its end have gone. */
    goBack: () => {
      cursor = table.ends.last?.place ?? search.begin;
    },
  };
  return search;
}

function eventFilter(query: URLSearchParams): HTMLElement {
  const input = (name: string, type = 'text', more: Record<string, string> = {}) =>
    make('input', { name, type, autocomplete: 'off', autocapitalize: 'none', spellcheck: false, attributes: more });
  const form = filterForm('events', query, [
    field(text('text'), input('text', 'search'), 'wide'),
    field(text('account'), input('account')),
    field(text('path'), input('path')),
    field(text('eventId'), input('id', 'text', { inputmode: 'numeric' })),
    field(text('group'), input('group', 'text', { list: 'event-groups' })),
    field(text('address'), input('address')),
    field(text('requestId'), input('request_id')),
    field(text('since'), input('since', 'datetime-local', { step: '1' })),
    field(text('until'), input('until', 'datetime-local', { step: '1' })),
  ]);
  const count = [...query.keys()].length;
  const summary = make('summary', count === 0 ? text('searchEvents') : text('searchEventsBy', { count }));
  // On a narrow screen the form would push the results out of sight.
  return make('details.filter-box', { open: count > 0 || innerWidth > 900 }, summary, form);
}

/** Shows live events and search results, newest first. */
export async function showEvents({ main, route: { query }, signal }: Stage): Promise<void> {
  const table = eventTable(text('events'), text('noEvents'));
  const status = make('p.hint', { role: 'status' });
  const found = searchEvents(query, table, status, signal);
  const more = growingEnd(found.next, signal);
  const onCut = () => {
    found.goBack();
    more.offer();
  };
  const tail = liveTail(query, table, signal, onCut);
  const replay = replayButton(text('replayMatching'), () => ({ filter: Object.fromEntries(query) }));
  main.append(
    heading(text('events'), tail.badge, tail.button),
    eventFilter(query),
    panel(text(query.size > 0 ? 'found' : 'latest'), make('div.row', status, query.size > 0 && replay), table.element, more.element),
  );
  await more.load();
  // A search with an end in time has no live events.
  if (query.has('until')) tail.button.hidden = tail.badge.hidden = true;
  else tail.start(found.begin);
}
