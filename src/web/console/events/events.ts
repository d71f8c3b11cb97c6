import type { EventHistogram, EventPage } from '../../../console/api/schemas/events.ts';
import { shortTime } from '../../shared/dates.ts';
import { make, makeSvg } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { changed, field, folded, localTime, openSearch, skipTo, tellUnder, timePresets } from '../fields.ts';
import { colon, text } from '../language.ts';
import { growingEnd } from '../more.ts';
import { replayButton } from '../replay-button.ts';
import { ask, withQuery } from '../request.ts';
import { badge, heading, isAbort, type Stage } from '../section.ts';
import { numberText, timeElement } from '../shown.ts';
import { clientAddress, type EventTable, eventTable } from './event-table.ts';
import { liveTail } from './live-tail.ts';
import { apiQuery, type QueryKey, timeProblem, withConditions } from './query.ts';
import { queryBar } from './query-bar.ts';

function searchEvents(query: URLSearchParams, table: EventTable, status: HTMLElement, signal: AbortSignal) {
  /** Undefined before the first page; null after the last one. */
  let cursor: string | null | undefined;
  let bytes = 0;
  const search = {
    /** Position of the journal's end when the search began. Live events continue from there. */
    begin: undefined as string | undefined,
    next: async () => {
      let first: HTMLElement | undefined;
      // A page without events means that the search reached a limit of time or bytes. The next page continues the search.
      do {
        const asked = cursor;
        const wanted = new URLSearchParams(query);
        if (asked) wanted.set('cursor', asked);
        const path = withQuery('/api/events', wanted);
        const found = await ask<EventPage>('GET', path, { signal });
        // If rows at the end of the table were removed during the request, the reply does not continue the table.
        if (cursor !== asked) continue;
        cursor = found.next;
        search.begin ??= found.begin;
        bytes += found.searched.bytes;
        const events = found.events.filter(({ uuid }) => !table.find(uuid));
        first = table.append(events.map((event) => ({ ...event, place: found.begin })));
        // Only a search that has found nothing yet needs a sign of life.
        status.textContent = cursor !== null && !first ? text('searched', { size: sizeText(bytes) }) : '';
      } while (cursor !== null && first === undefined);
      return { hasMore: cursor !== null, first };
    },
    /** Makes the next page begin at the current end of the table. Called after rows were removed from the end. */
    goBack: () => {
      cursor = table.ends.last?.place ?? search.begin;
    },
  };
  return search;
}

/** Returns a function that finds the values of a key in the table's events. The search bar suggests these values. */
function seenValues(table: EventTable): (key: QueryKey) => Iterable<string> {
  return (key) => {
    const values = table.items().flatMap((event) => {
      const { account, data } = event;
      if (key === 'account') return [account.name];
      if (key === 'address') return [clientAddress(event)];
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
  let hasProblem = false;
  // Events can be sent again only if the search has found any.
  const checkReplay = () => replay?.toggleAttribute('disabled', hasProblem || table.size === 0);
  const bar = queryBar(
    query,
    seenValues(table),
    (conditions) => open(withConditions(query, conditions)),
    (isBad) => {
      hasProblem = isBad;
      checkReplay();
    },
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
  main.replaceChildren(
    heading(text('events'), tail.badge, tail.button),
    skipTo(results),
    bar.element,
    range.element,
    chart.element,
    results,
  );
  const isSearched = bar.isGood() && range.isGood;
  if (!isSearched) {
    replay?.setAttribute('disabled', '');
    results.hidden = true;
    tail.button.hidden = tail.badge.hidden = true;
    return;
  }
  const counted = new URLSearchParams([...asked, ...(asked.has('since') ? [] : [['whole', '1']])]);
  chart.load(counted, signal).catch((error: unknown) => {
    // The chart is optional, because the list below shows the same events.
    if (!isAbort(error)) chart.element.hidden = true;
  });
  const onRows = new MutationObserver(checkReplay);
  onRows.observe(table.element, { childList: true, subtree: true });
  signal.addEventListener('abort', () => onRows.disconnect());
  replay?.setAttribute('disabled', '');
  await more.load();
  if (query.has('until')) tail.button.hidden = tail.badge.hidden = true;
  else tail.start(found.begin);
}

/**
 * Builds the controls for the time range of a search: buttons for common ranges, two fields, and the switch for routine events.
 *
 * @param open opens a page with the new query
 */
function timeRange(query: URLSearchParams, open: (query: URLSearchParams) => void) {
  const change = (values: Record<string, string | undefined>) => changed(query, values);
  const timeInput = (name: 'since' | 'until') => {
    const value = localTime(query.get(name) ?? '');
    return make('input', { name, type: 'datetime-local', value, attributes: { step: '1' } });
  };
  const [since, until] = [timeInput('since'), timeInput('until')];
  const iso = (input: HTMLInputElement) => (input.value === '' ? undefined : new Date(input.value).toISOString());
  const onChange = () => {
    const next = change({ last: undefined, since: iso(since), until: iso(until) });
    const reason = timeProblem(next);
    tellUnder(until, reason ?? '');
    if (reason === undefined) open(next);
  };
  const fields = [field(text('since'), since), field(text('until'), until)];
  for (const input of [since, until]) input.addEventListener('change', onChange);
  const routine = make('input', { type: 'checkbox', checked: query.has('routine') });
  routine.addEventListener('change', () => open(change({ routine: routine.checked ? '1' : undefined })));
  const tick = make('label.tick', routine, make('span', text('showRoutine')));
  const element = folded(
    ['last', 'since', 'until', 'routine'].filter((name) => query.has(name)).length,
    make('div.range', timePresets(query, open), make('div.period', ...fields), tick),
  );
  const problem = timeProblem(query);
  if (problem !== undefined) tellUnder(until, problem);
  return { element, isGood: problem === undefined };
}

const [width, height] = [600, 48];
const parts = 60;

/**
 * Shows the number of events over time as bars. The reader selects a range by dragging over them.
 *
 * @param choose called with the begin and end of the selected range, in ISO 8601
 */
function histogram(choose: (since: string, until: string) => void) {
  const svg = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img' });
  const chosen = makeSvg('rect', { class: 'chosen', y: '0', height: String(height), width: '0' });
  const plot = make('div.plot', svg);
  const [begin, told, end] = [make('span'), make('span.told'), make('span')];
  const partial = make('p.hint', { hidden: true });
  const element = make('figure.histogram', { hidden: true }, plot, make('figcaption.hint', begin, told, end), partial);
  let shown: EventHistogram | undefined;
  let from: number | undefined;

  const partAt = (event: PointerEvent) => {
    const { left, width: wide } = plot.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((event.clientX - left) / wide) * parts), 0), parts - 1);
  };
  const bucketTime = ({ since, bucket_seconds }: EventHistogram, part: number) =>
    new Date(Date.parse(since) + part * bucket_seconds * 1000).toISOString();
  const mark = (first: number, last: number) => {
    chosen.setAttribute('x', String((first * width) / parts));
    chosen.setAttribute('width', String(((last - first + 1) * width) / parts));
    if (!shown) return;
    const counts = shown.counts.slice(first, last + 1);
    const sum = (name: 'events' | 'failures') => counts.reduce((total, part) => total + part[name], 0);
    tell(bucketTime(shown, first), bucketTime(shown, last + 1), sum('events'), sum('failures'));
  };
  const tell = (since: string, until: string, events: number, failures: number) => {
    begin.replaceChildren(timeElement(since));
    end.replaceChildren(timeElement(until));
    told.textContent = `${text('eventCount', { count: events })}, ${text('failureCount', { count: failures })}`;
  };
  const tellAll = () => {
    if (!shown) return;
    const sum = (name: 'events' | 'failures') => shown?.counts.reduce((total, part) => total + part[name], 0) ?? 0;
    tell(shown.since, shown.until, sum('events'), sum('failures'));
    const highest = Math.max(...shown.counts.map(({ events }) => events));
    if (highest > 0) told.append(` · ${text('highest', { value: numberText(highest) })}`);
    const countedMs = Date.parse(shown.counted_since);
    partial.hidden = countedMs <= Date.parse(shown.since);
    partial.replaceChildren(badge(text('partial'), 'warn'), ' ', text('notCounted', { time: shortTime(countedMs) }));
  };
  plot.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    from = partAt(event);
    plot.setPointerCapture(event.pointerId);
    mark(from, from);
  });
  plot.addEventListener('pointermove', (event) => {
    const at = partAt(event);
    mark(Math.min(from ?? at, at), Math.max(from ?? at, at));
  });
  plot.addEventListener('pointerleave', () => {
    if (from !== undefined) return;
    chosen.setAttribute('width', '0');
    tellAll();
  });
  plot.addEventListener('pointercancel', () => {
    from = undefined;
  });
  plot.addEventListener('pointerup', (event) => {
    if (from === undefined || !shown) return;
    const at = partAt(event);
    const [first, last] = [Math.min(from, at), Math.max(from, at)];
    from = undefined;
    choose(bucketTime(shown, first), bucketTime(shown, last + 1));
  });

  const load = async (query: URLSearchParams, signal: AbortSignal) => {
    const found = await ask<EventHistogram>('GET', withQuery('/api/events/histogram', query), { signal });
    shown = found;
    const highest = Math.max(...found.counts.map(({ events }) => events), 1);
    const step = width / parts;
    // With a linear scale, one busy part would make all others too low to be seen.
    const scaled = (count: number) => (count === 0 ? 0 : Math.max(Math.sqrt(count / highest) * (height - 2), 3));
    const bars = found.counts.flatMap(({ events, failures }, index) => {
      const all = scaled(events);
      const bad = failures === 0 ? 0 : Math.max((failures / events) * all, 2);
      const bar = (kind: string, tall: number) =>
        makeSvg('rect', {
          class: kind,
          x: (index * step).toFixed(1),
          width: (step - 1).toFixed(1),
          y: (height - tall).toFixed(1),
          height: tall.toFixed(1),
        });
      return [...(all > 0 ? [bar('first', all)] : []), ...(bad > 0 ? [bar('bad', bad)] : [])];
    });
    const uncounted = (Date.parse(found.counted_since) - Date.parse(found.since)) / found.bucket_seconds / 1000;
    const rest = makeSvg('rect', { class: 'uncounted', y: '0', height: String(height), width: String(Math.round(uncounted) * step) });
    svg.replaceChildren(...bars, rest, chosen);
    tellAll();
    svg.ariaLabel = `${text('histogram')}${colon}${told.textContent}${partial.hidden ? '' : `. ${partial.textContent}`}`;
    element.hidden = false;
  };
  return { element, load };
}
