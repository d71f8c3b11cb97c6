import type { EventView } from '../../../console/api/schemas/events.ts';
import { icon, make, makeButton } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { listen } from '../live.ts';
import { withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { badge } from '../section.ts';
import { type EventTable, eventTime, type ListedEvent } from './event-table.ts';

/** Live events make the table grow to at most this number of rows. A table that is already longer does not grow. */
const maxLive = 500;

/**
 * A place where live events were omitted, because they came too fast or were read too slowly. Their number is undefined if it is unknown.
 */
interface Gap {
  skipped: number | undefined;
}

/** A gap at the top of the table. Further gaps are added to it until an event follows. `older` is the event below the gap. */
interface OpenGap extends Gap {
  older: ListedEvent | undefined;
  link: HTMLAnchorElement;
}

/**
 * Shows live events above the events that were found.
 *
 * @param query conditions of the page
 * @param asked the same conditions for the API
 * @param onCut called when rows at the end of the table were removed
 */
export function liveTail(query: URLSearchParams, asked: URLSearchParams, table: EventTable, signal: AbortSignal, onCut: () => void) {
  const state = badge('', 'calm');
  const button = makeButton('', 'pause', () => (isPaused() ? start() : stop()));
  let run: AbortController | undefined;
  let last: string | undefined;
  /** Events and gaps that are not shown yet, oldest first. */
  let waiting: (ListedEvent | Gap)[] = [];
  let isWaitingCut = false;
  let frame = 0;
  let openGap: OpenGap | undefined;
  const isPaused = () => run?.signal.aborted ?? false;

  /**
   * Starts the stream.
   *
   * @param after journal position from which the first start shows events; later starts continue where the stream ended
   */
  const start = (after?: string) => {
    run = new AbortController();
    button.disabled = false;
    last ??= after;
    listen(withQuery('/api/events/live', asked), AbortSignal.any([signal, run.signal]), {
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
    button.replaceChildren(icon(action), make('span', text(action)));
    button.title = text(action);
  };

  const add = (told: ListedEvent | Gap, place: string) => {
    last = place;
    waiting.push(told);
    // A hidden page draws no frames, so its waiting events would accumulate without this limit.
    if (waiting.length > 2 * maxLive) {
      waiting.splice(0, maxLive);
      isWaitingCut = true;
    }
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

  // An event that happened during the search is perhaps in the table already. In this case, only its position is added to its row.
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
    const span = new URLSearchParams(query);
    span.delete('last');
    if (older) span.set('since', eventTime(older));
    if (newer) span.set('until', new Date(Date.parse(eventTime(newer)) + 1).toISOString());
    link.href = hashFor('events', '', span);
    link.textContent = count === undefined ? text('gapUnknown') : text('gap', { count });
    if (!openGap) table.prependNote(link);
    openGap = { skipped: count, older, link };
  };

  button.disabled = true;
  showState(false);
  return { badge: state, button, start };
}
