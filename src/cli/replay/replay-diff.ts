import * as z from 'zod';
import { isSelected, journalEvents } from '../../events/journal/event-search.ts';
import { sentEvent } from '../../webhooks/records/delivery-record.ts';
import { recordedRequests } from '../../webhooks/replay/recorded-requests.ts';
import type { WebhookHandler } from '../../webhooks/webhook-handler.ts';
import { exitCode } from '../exit-codes.ts';
import type { BadLines } from '../journal/bad-lines.ts';
import type { SelectionOptions } from '../journal/event-selection.ts';
import type { Journal } from '../journal/journal-shape.ts';
import { lineDiff } from '../line-diff.ts';
import { complain, count, paint, print } from '../output.ts';
import { comparedText } from './replay-request.ts';

/** What today's configuration would send differently. */
export const requestDifference = z.strictObject({
  handler: z.string(),
  events: z.array(sentEvent),
  differences: z.array(z.string()).describe('Lines that begin with - or +.'),
});

/**
 * Prints what today's configuration would send differently from what was recorded; sends nothing.
 *
 * @returns 0 when nothing differs, 1 when something does or a line was malformed
 */
export async function diffRequests(
  journal: Journal,
  handlers: readonly WebhookHandler[],
  options: SelectionOptions & { json?: boolean },
  bad: BadLines,
): Promise<number> {
  const counts = { compared: 0, different: 0 };
  await bad.unlessEnded(compare(journal, handlers, options, bad, counts));
  const { compared, different } = counts;
  complain(`${count(compared, 'request')} compared, ${different} different${bad.count > 0 ? `, ${bad.summary}` : ''}`);
  return different > 0 || bad.isFailure ? exitCode.no : exitCode.done;
}

async function compare(
  journal: Journal,
  handlers: readonly WebhookHandler[],
  options: SelectionOptions & { json?: boolean },
  bad: BadLines,
  counts: { compared: number; different: number },
): Promise<void> {
  const groups = new Map<string, string | undefined>();
  for await (const { event, group } of journalEvents(journal, options.since, (place, reason) => bad.add(place, reason)))
    if (isSelected(event, options)) groups.set(event.uuid, group);
  const byUuid = new Map(handlers.map((handler) => [handler.uuid, handler]));
  const requests = recordedRequests(journal, (handler, uuid) => byUuid.has(handler) && groups.has(uuid), bad);
  for await (const { record, events, rendered } of requests) {
    if (options.limit !== undefined && counts.compared >= options.limit) break;
    counts.compared++;
    const handler = byUuid.get(record.handler) as WebhookHandler;
    const differences: string[] = [];
    const unwanted = events.filter(({ event }) => !handler.wants(event, groups.get(event.uuid)));
    for (const { event } of unwanted) differences.push(`- today's filters leave out ${event.id} ${event.uuid}`);
    if (unwanted.length < events.length) {
      const today = handler.render(events);
      const method = handler.options.request_method.toUpperCase();
      const headerType = handler.options.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1];
      const now = { ...today, contentType: headerType ?? today.contentType };
      const then = { ...rendered, contentType: headerType ?? rendered.contentType };
      differences.push(...lineDiff(comparedText(record.method, then), comparedText(method, now)));
    }
    if (differences.length === 0) continue;
    counts.different++;
    const [first] = events;
    const difference: z.infer<typeof requestDifference> = {
      handler: record.handler,
      events: events.map(({ event: { id, uuid } }) => ({ id, uuid })),
      differences,
    };
    if (options.json) print(JSON.stringify(difference));
    else
      print(
        [
          paint(process.stdout, 'bold', `${record.handler} ${first?.event.id} ${first?.event.uuid}`),
          ...differences.map((line) => paint(process.stdout, line.startsWith('-') ? 'red' : 'green', line)),
          '',
        ].join('\n'),
      );
  }
}
