import { journalEvents } from '../../events/journal/event-search.ts';
import { DeliveryHistory } from '../records/delivery-history.ts';
import { type BadLineReport, recordedRequests, withSecrets } from './recorded-requests.ts';
import type { ReplayLane } from './replay-lane.ts';
import type { ReplaySelection, SelectedEvent } from './selected-events.ts';
import type { ReplayedJournal } from './undelivered-events.ts';

/** Sends selected events, each by the lanes of its takers. @returns number of events */
export async function replayEvents(events: AsyncIterable<SelectedEvent>, lanes: readonly ReplayLane[]): Promise<number> {
  const byHandler = new Map(lanes.map((lane) => [lane.handler.uuid, lane]));
  let matched = 0;
  for await (const { sent, takers } of events) {
    matched++;
    for (const { uuid } of takers) await byHandler.get(uuid)?.add(sent);
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
  for await (const { event } of journalEvents(journal, options, (place, reason) => bad.add(place, reason))) selected.add(event.uuid);
  const byHandler = new Map(lanes.map((lane) => [lane.handler.uuid, lane]));
  let matched = 0;
  const requests = recordedRequests(journal, (handler, uuid) => byHandler.has(handler) && selected.has(uuid), bad);
  for await (const { record, events, rendered } of requests) {
    if (signal.aborted) break;
    const lane = byHandler.get(record.handler) as ReplayLane;
    if (options.failed && events.every(({ event, position }) => history.isDelivered(record.handler, event.uuid, position))) continue;
    if (options.limit !== undefined && matched + events.length > options.limit && matched > 0) break;
    matched += events.length;
    const whole = withSecrets(rendered, lane.handler.render(events));
    if (whole) await lane.send(events, whole);
    else bad.missing(`${record.handler} ${events[0]?.event.uuid}`, 'the secrets of its body are not kept; send it without --exact');
  }
  return matched;
}
