import type { EventPage } from '../../../console/api/schemas/events.ts';
import { make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { openSearch } from '../fields.ts';
import { text } from '../language.ts';
import { growingEnd } from '../more.ts';
import { replayButton } from '../replay-button.ts';
import { ask, withQuery } from '../request.ts';
import { heading, isAbort, type Stage } from '../section.ts';
import { type EventTable, eventTable } from './event-table.ts';
import { histogram } from './histogram.ts';
import { liveTail } from './live-tail.ts';
import { apiQuery, type QueryKey, withConditions } from './query.ts';
import { queryBar } from './query-bar.ts';
import { timeRange } from './time-range.ts';

/** Fetches the pages of a search one after the other, and appends them to a table. */
function searchEvents(query: URLSearchParams, table: EventTable, status: HTMLElement, signal: AbortSignal) {
  /** Undefined before the first page; null after the last one. */
  let cursor: string | null | undefined;
  let bytes = 0;
  const search = {
    /** The end of the journal when the search began. */
    begin: undefined as string | undefined,
    next: async () => {
      let first: HTMLElement | undefined;
      // A page without events only tells how far the search has come.
      do {
        const asked = cursor;
        const wanted = new URLSearchParams(query);
        if (asked) wanted.set('cursor', asked);
        const path = withQuery('/api/events', wanted);
        const found = await ask<EventPage>('GET', path, { signal });
        // Rows at the end of the table were removed during the request, so the reply no longer continues the table.
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
    /** Makes the next page begin at the current end of the table. Called after rows there were removed. */
    goBack: () => {
      cursor = table.ends.last?.place ?? search.begin;
    },
  };
  return search;
}

/** Returns the values of the events in the table, which the search bar suggests. */
function seenValues(table: EventTable): (key: QueryKey) => Iterable<string> {
  return (key) => {
    const values = table.items().flatMap(({ account, data }) => {
      if (key === 'account') return [account.name];
      if (key === 'address') return [account.peer?.address ?? ''];
      if (key === 'path' && typeof data.path === 'string') return [data.path];
      return key === 'request' && typeof data.request_id === 'string' ? [data.request_id] : [];
    });
    return values.filter((value) => value !== '');
  };
}

/** Shows live events and search results, newest first. */
export async function showEvents({ main, route: { query }, signal }: Stage): Promise<void> {
  const asked = apiQuery(query);
  const open = (next: URLSearchParams) => openSearch('events', next);
  const table = eventTable(text('events'), text('noEvents'), query);
  const status = make('p.hint', { role: 'status' });
  const found = searchEvents(asked, table, status, signal);
  const more = growingEnd(found.next, signal);
  const onCut = () => {
    found.goBack();
    more.offer();
  };
  const tail = liveTail(query, asked, table, signal, onCut);
  const names = [...new Set(asked.keys())];
  const replay = replayButton(text('replayMatching'), () => ({
    filter: Object.fromEntries(names.map((name) => [name, asked.getAll(name)])),
  }));
  const bar = queryBar(
    query,
    seenValues(table),
    (conditions) => open(withConditions(query, conditions)),
    (isBad) => replay?.toggleAttribute('disabled', isBad || table.size === 0),
  );
  const range = timeRange(query, open);
  const chart = histogram((since, until) => {
    const next = new URLSearchParams(query);
    next.delete('last');
    next.set('since', since);
    next.set('until', until);
    open(next);
  });
  const results = make(
    'section.panel',
    make('div.heading', make('h2', text(query.size > 0 ? 'found' : 'latest')), status, query.size > 0 && replay),
    table.element,
    more.element,
  );
  main.append(heading(text('events'), tail.badge, tail.button), bar.element, range.element, chart.element, results);
  const isSearched = bar.isGood() && range.isGood;
  if (!isSearched) {
    replay?.setAttribute('disabled', '');
    results.hidden = true;
    tail.button.hidden = tail.badge.hidden = true;
    return;
  }
  const counted = new URLSearchParams([...asked, ...(asked.has('since') ? [] : [['whole', '1']])]);
  chart.load(counted, signal).catch((error: unknown) => {
    // The chart is optional: the list below shows the same events.
    if (!isAbort(error)) chart.element.hidden = true;
  });
  // Nothing can be sent again before the first event is found.
  const onRows = new MutationObserver(() => replay?.toggleAttribute('disabled', table.size === 0));
  onRows.observe(table.element, { childList: true, subtree: true });
  signal.addEventListener('abort', () => onRows.disconnect());
  replay?.setAttribute('disabled', '');
  await more.load();
  // A search that ends at a certain time has no live events.
  if (query.has('until')) tail.button.hidden = tail.badge.hidden = true;
  else tail.start(found.begin);
}
