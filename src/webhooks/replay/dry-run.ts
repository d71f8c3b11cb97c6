import { journalEvents } from '../../events/journal/event-search.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import { lineDiff } from '../../lib/line-diff.ts';
import { type RecordKind, recordKinds } from '../records/delivery-record.ts';
import type { DryResult, RequestDifference } from '../records/delivery-record-schema.ts';
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
import type { ReplaySelection } from './selected-events.ts';
import { comparedText, describeRequest } from './shown-requests.ts';
import type { ReplayedJournal } from './undelivered-events.ts';

/** Compares recorded requests with the requests that the current configuration makes for the same events. */
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
    const handler = byUuid.get(request.record.handler) as WebhookHandler;
    yield {
      handler: handler.uuid,
      events: nameEvents(request.events),
      differences: findDifferences(request, handler, groups),
    };
  }
}

/** Returns the ID and UUID of each event, for results. */
export function nameEvents(events: readonly SentEvent[]): { id: string; uuid: string }[] {
  return events.map(({ event: { id, uuid } }) => ({ id, uuid }));
}

function findDifferences(
  { record, events, rendered }: RecordedRequest,
  handler: WebhookHandler,
  groups: ReadonlyMap<string, string | undefined>,
): string[] {
  const unwanted = events.filter(({ event }) => !handler.wants(event, groups.get(event.uuid)));
  const differences = unwanted.map(({ event }) => `- the current filters exclude ${event.id} ${event.uuid}`);
  if (unwanted.length === events.length) return differences;
  const today = maskSecrets(handler.render(events), events);
  const method = handler.options.request_method.toUpperCase();
  const headerType = handler.options.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  const now = { ...today, contentType: headerType ?? today.contentType };
  const then = { ...rendered, contentType: headerType ?? rendered.contentType };
  return [...differences, ...lineDiff(comparedText(record.method, then), comparedText(method, now))];
}

const shownBodyCharacters = 32 * 1024;

export interface PlannedRequest {
  handler: WebhookHandler;
  events: readonly SentEvent[];
}

/**
 * Yields the requests that would be sent, and how each differs from the newest delivery with the same first event. Nothing is sent.
 * Deliveries for which no request was sent, for example because all URLs were suspended, count only if there are no others.
 *
 * @param groups account group of each event, by the UUID of the event
 * @param nowMs time for the signatures, Unix time in milliseconds
 */
export async function* dryResults(
  journal: ReplayedJournal,
  planned: readonly PlannedRequest[],
  groups: ReadonlyMap<string, string | undefined>,
  nowMs: number,
): AsyncGenerator<DryResult> {
  const keys = new Set(planned.map(({ handler, events }) => requestKey({ handler: handler.uuid, events: nameEvents(events) })));
  const newest = await findNewest(journal, keys);
  const lines = new JournalLines(journal);
  try {
    for (const { handler, events } of planned) {
      const request = describeRequest(handler, events, handler.render(events), nowMs);
      const shown = nameEvents(events);
      const found = newest.get(requestKey({ handler: handler.uuid, events: shown }));
      const record = found && (await journal.records.at(found.kind, found.position));
      const before = record && (await readRecordedEvents(record, lines));
      const rendered = before && renderRecord(record, before);
      yield {
        handler: handler.uuid,
        events: shown,
        request: { ...request, body: request.body.slice(0, shownBodyCharacters), is_truncated: request.body.length > shownBodyCharacters },
        was_sent: found?.wasSent ?? false,
        delivery: found && rendered ? formatDeliveryId(found.kind, found.position) : null,
        differences: rendered ? findDifferences({ record, events: before, rendered }, handler, groups) : null,
      };
    }
  } finally {
    lines.close();
  }
}

async function findNewest(journal: ReplayedJournal, keys: ReadonlySet<string>) {
  const newest = new Map<string, { kind: RecordKind; position: LogPosition; time: string; wasSent: boolean }>();
  for (const kind of recordKinds)
    for await (const { record, position } of journal.records.read(kind, undefined, () => {})) {
      const key = requestKey(record);
      if (!keys.has(key)) continue;
      const { time } = record;
      const [wasSent, known] = [record.attempts.length > 0, newest.get(key)];
      const isBetter = !known || (wasSent === known.wasSent ? known.time <= time : wasSent);
      if (isBetter) newest.set(key, { kind, position, time, wasSent });
    }
  return newest;
}
