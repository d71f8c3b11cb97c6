import { type EventSelection, isSelected, journalEvents } from '../../events/journal/event-search.ts';
import { DeliveryHistory } from '../records/delivery-history.ts';
import { fileEvents, type SourceEvent } from './event-file.ts';
import { type BadLineReport, recordedRequests } from './recorded-requests.ts';
import type { ReplayLane } from './replay-lane.ts';
import { type ReplayedJournal, UndeliveredEvents } from './undelivered-events.ts';

/** The handler that deliveries to a URL without one are reported under: it takes every event. */
export const plainHandler = 'url';

/** Which events are sent again. */
export interface ReplaySelection extends EventSelection {
  /** Only what was not delivered. */
  failed?: boolean;
  /** Most events. */
  limit?: number;
  /** Also what the filters of a handler leave out. */
  force?: boolean;
}

/**
 * Sends events of the journal, or of a file, to the handlers that want them.
 *
 * @param source path of the file, or `-` for stdin; undefined for the journal
 * @returns number of events that somebody wants
 */
export async function replayEvents(
  source: string | undefined,
  journal: ReplayedJournal,
  lanes: readonly ReplayLane[],
  options: ReplaySelection,
  bad: BadLineReport,
  signal: AbortSignal,
): Promise<number> {
  const onBadLine = (place: string, reason: string) => bad.add(place, reason);
  const events: AsyncIterable<SourceEvent> =
    source === undefined ? journalEvents(journal, options.since, onBadLine) : fileEvents(source, onBadLine, signal);
  const undelivered = options.failed
    ? await UndeliveredEvents.read(journal, source !== undefined, (reason) => bad.add('records', reason))
    : undefined;
  let matched = 0;
  for await (const sent of events) {
    if (signal.aborted) break;
    if (!isSelected(sent.event, options)) continue;
    const takers = lanes.filter(({ handler }) => {
      if (handler.uuid === plainHandler) return undelivered?.isMissingSomewhere(sent.event, sent.group, sent.position) ?? true;
      if (!options.force && !handler.wants(sent.event, sent.group)) return false;
      return undelivered?.isMissing(handler.uuid, sent.event, sent.position) ?? true;
    });
    if (takers.length === 0) continue;
    matched++;
    for (const lane of takers) await lane.add(sent);
    if (options.limit !== undefined && matched >= options.limit) break;
  }
  return matched;
}

/** Sends what was recorded, to the handlers it was recorded for. @returns number of events */
export async function replayRecorded(
  journal: ReplayedJournal,
  lanes: readonly ReplayLane[],
  options: ReplaySelection,
  bad: BadLineReport,
  signal: AbortSignal,
): Promise<number> {
  const history = await DeliveryHistory.read(journal.records, (reason) => bad.add('records', reason));
  const selected = new Set<string>();
  for await (const { event } of journalEvents(journal, options.since, (place, reason) => bad.add(place, reason)))
    if (isSelected(event, options)) selected.add(event.uuid);
  const byHandler = new Map(lanes.map((lane) => [lane.handler.uuid, lane]));
  let matched = 0;
  const requests = recordedRequests(journal, (handler, uuid) => byHandler.has(handler) && selected.has(uuid), bad);
  for await (const { record, events, rendered } of requests) {
    if (signal.aborted) break;
    const lane = byHandler.get(record.handler) as ReplayLane;
    if (options.failed && events.every(({ event, position }) => history.isDelivered(record.handler, event.uuid, position))) continue;
    if (options.limit !== undefined && matched + events.length > options.limit && matched > 0) break;
    matched += events.length;
    await lane.send(events, rendered);
  }
  return matched;
}
