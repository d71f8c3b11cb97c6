import { journalEvents } from '../../events/journal/event-search.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import { lineDiff } from '../../lib/line-diff.ts';
import { type RecordKind, recordKinds } from '../records/delivery-record.ts';
import { formatDeliveryId } from '../records/newest-deliveries.ts';
import type { SentEvent, WebhookHandler } from '../webhook-handler.ts';
import {
  type BadLineReport,
  JournalLines,
  maskSecrets,
  type RecordedRequest,
  readRecordedEvents,
  recordedRequests,
  renderRecord,
  requestKey,
} from './recorded-requests.ts';
import type { DryResult, RequestDifference } from './replay-schemas.ts';
import type { ReplaySelection } from './selected-events.ts';
import { comparedText, describeRequest } from './shown-request.ts';
import type { ReplayedJournal } from './undelivered-events.ts';

/** Compares recorded requests with what today's configuration makes of their events. Those that are the same have no differences. */
export async function* comparedRequests(
  journal: ReplayedJournal,
  handlers: readonly WebhookHandler[],
  options: ReplaySelection,
  bad: BadLineReport,
): AsyncGenerator<RequestDifference> {
  const groups = new Map<string, string | undefined>();
  for await (const { event, group } of journalEvents(journal, options, (place, reason) => bad.add(place, reason)))
    groups.set(event.uuid, group);
  const byUuid = new Map(handlers.map((handler) => [handler.uuid, handler]));
  const requests = recordedRequests(journal, (handler, uuid) => byUuid.has(handler) && groups.has(uuid), bad);
  let compared = 0;
  for await (const request of requests) {
    if (options.limit !== undefined && compared++ >= options.limit) break;
    const { record, events } = request;
    const handler = byUuid.get(record.handler) as WebhookHandler;
    yield {
      handler: record.handler,
      events: events.map(({ event: { id, uuid } }) => ({ id, uuid })),
      differences: findDifferences(request, handler, (uuid) => groups.get(uuid)),
    };
  }
}

/** What a handler would send differently today. @param groupOf the group of an event's account, by the event's UUID */
function findDifferences(
  { record, events, rendered }: RecordedRequest,
  handler: WebhookHandler,
  groupOf: (uuid: string) => string | undefined,
): string[] {
  const unwanted = events.filter(({ event }) => !handler.wants(event, groupOf(event.uuid)));
  const differences = unwanted.map(({ event }) => `- today's filters leave out ${event.id} ${event.uuid}`);
  if (unwanted.length === events.length) return differences;
  const today = maskSecrets(handler.render(events), events);
  const method = handler.options.request_method.toUpperCase();
  const headerType = handler.options.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  const now = { ...today, contentType: headerType ?? today.contentType };
  const then = { ...rendered, contentType: headerType ?? rendered.contentType };
  return [...differences, ...lineDiff(comparedText(record.method, then), comparedText(method, now))];
}

/** Most of a body that is shown, in characters. */
const shownBodyCharacters = 32 * 1024;

/** A request that would be made. */
export interface PlannedRequest {
  handler: WebhookHandler;
  events: readonly SentEvent[];
}

/**
 * Shows requests as they would be made, each with what differs from what was sent for the same events before. Sends nothing.
 *
 * @param groupOf the group of an event's account, by the event's UUID
 */
export async function* dryResults(
  journal: ReplayedJournal,
  planned: readonly PlannedRequest[],
  dependencies: { nowMs: number; groupOf: (uuid: string) => string | undefined },
): AsyncGenerator<DryResult> {
  const { nowMs, groupOf } = dependencies;
  const keys = new Set(
    planned.map(({ handler, events }) => requestKey({ handler: handler.uuid, events: [{ uuid: events[0]?.event.uuid ?? '' }] })),
  );
  const newest = await newestPlaces(journal, keys);
  const lines = new JournalLines(journal);
  try {
    for (const { handler, events } of planned) {
      const request = describeRequest(handler, events, handler.render(events), nowMs);
      const shown = events.map(({ event: { id, uuid } }) => ({ id, uuid }));
      const place = newest.get(requestKey({ handler: handler.uuid, events: shown }));
      const record = place && (await journal.records.at(place.kind, place.position));
      const before = record && (await readRecordedEvents(record, lines));
      const rendered = before && renderRecord(record, before);
      yield {
        handler: handler.uuid,
        events: shown,
        request: { ...request, body: request.body.slice(0, shownBodyCharacters), is_truncated: request.body.length > shownBodyCharacters },
        delivery: place && rendered ? formatDeliveryId(place.kind, place.position) : null,
        differences: rendered ? findDifferences({ record, events: before, rendered }, handler, groupOf) : null,
      };
    }
  } finally {
    lines.close();
  }
}

type Place = { kind: RecordKind; position: LogPosition; time: string };

async function newestPlaces(journal: ReplayedJournal, keys: ReadonlySet<string>): Promise<Map<string, Place>> {
  const newest = new Map<string, Place>();
  for (const kind of recordKinds)
    for await (const { record, position } of journal.records.read(kind, undefined, () => {})) {
      const key = requestKey(record);
      if (keys.has(key) && (newest.get(key)?.time ?? '') <= record.time) newest.set(key, { kind, position, time: record.time });
    }
  return newest;
}
