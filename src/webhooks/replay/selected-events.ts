import { journalEvents } from '../../events/journal/event-search.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import { type EventSelection, isSelected } from '../../events/journal/search/event-selection.ts';
import type { HistoryBounds } from '../records/delivery-history.ts';
import type { WebhookHandler } from '../webhook-handler.ts';
import { fileEvents, type SourceEvent } from './event-file.ts';
import type { BadLineReport } from './recorded-requests.ts';
import { type ReplayedJournal, UndeliveredEvents } from './undelivered-events.ts';

/** The handler that deliveries to a URL without one are reported under: it takes every event. */
export const plainHandler = 'url';

/** Which events are sent again. */
export interface ReplaySelection extends EventSelection {
  /** Only what stands before it in the journal. */
  end?: LogPosition;
  /** Only what was not delivered. */
  failed?: boolean;
  /** How much of the records is remembered for `failed`; undefined for all. */
  history?: HistoryBounds;
  /** Most events. */
  limit?: number;
  /** Also what the filters of a handler leave out. */
  force?: boolean;
}

/** An event with those that get it. */
export interface SelectedEvent {
  sent: SourceEvent;
  takers: WebhookHandler[];
}

/**
 * The events of the journal, or of a file, that are selected and that somebody wants.
 *
 * @param source path of the file, or `-` for stdin; undefined for the journal
 */
export async function* selectedEvents(
  source: string | undefined,
  journal: ReplayedJournal,
  handlers: readonly WebhookHandler[],
  options: ReplaySelection,
  bad: BadLineReport,
  signal: AbortSignal,
): AsyncGenerator<SelectedEvent> {
  const onBadLine = (place: string, reason: string) => bad.add(place, reason);
  const events: AsyncIterable<SourceEvent> =
    source === undefined ? journalEvents(journal, options, onBadLine) : fileEvents(source, onBadLine, signal);
  const undelivered = options.failed
    ? await UndeliveredEvents.read(journal, source !== undefined, (reason) => bad.add('records', reason), options.history)
    : undefined;
  let matched = 0;
  for await (const sent of events) {
    if (signal.aborted || isBehind(sent.position, options.end)) break;
    if (!isSelected(sent.event, options, sent.group)) continue;
    const takers = handlers.filter((handler) => {
      if (handler.uuid === plainHandler) return undelivered?.isMissingSomewhere(sent.event, sent.group, sent.position) ?? true;
      if (!options.force && !handler.wants(sent.event, sent.group)) return false;
      return undelivered?.isMissing(handler.uuid, sent.event, sent.position) ?? true;
    });
    if (takers.length === 0) continue;
    yield { sent, takers };
    if (++matched === options.limit) break;
  }
}

function isBehind(position: LogPosition | undefined, end: LogPosition | undefined): boolean {
  return position !== undefined && end !== undefined && comparePositions(position, end) >= 0;
}
