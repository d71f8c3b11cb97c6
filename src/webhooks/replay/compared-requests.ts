import { journalEvents } from '../../events/journal/event-search.ts';
import { lineDiff } from '../../lib/line-diff.ts';
import type { WebhookHandler } from '../webhook-handler.ts';
import { type BadLineReport, type RecordedRequest, recordedRequests, shownOf } from './recorded-requests.ts';
import type { RequestDifference } from './replay-schemas.ts';
import type { ReplaySelection } from './selected-events.ts';
import { comparedText } from './shown-request.ts';
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
      differences: differencesOf(request, handler, (uuid) => groups.get(uuid)),
    };
  }
}

/** What a handler would send differently today. @param groupOf the group of an event's account, by the event's UUID */
export function differencesOf(
  { record, events, rendered }: RecordedRequest,
  handler: WebhookHandler,
  groupOf: (uuid: string) => string | undefined,
): string[] {
  const unwanted = events.filter(({ event }) => !handler.wants(event, groupOf(event.uuid)));
  const differences = unwanted.map(({ event }) => `- today's filters leave out ${event.id} ${event.uuid}`);
  if (unwanted.length === events.length) return differences;
  const today = shownOf(handler.render(events), events);
  const method = handler.options.request_method.toUpperCase();
  const headerType = handler.options.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  const now = { ...today, contentType: headerType ?? today.contentType };
  const then = { ...rendered, contentType: headerType ?? rendered.contentType };
  return [...differences, ...lineDiff(comparedText(record.method, then), comparedText(method, now))];
}
