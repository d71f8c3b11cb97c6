import * as z from 'zod';
import { count, text, time } from '../../../control/shown-node.ts';
import { eventGroups } from '../../../events/catalogue.ts';
import type { ServiceEvent } from '../../../events/event.ts';
import { eventStatuses } from '../../../events/journal/search/event-selection.ts';

const members = z.record(text, z.unknown());
const texts = z.array(text).optional();

/**
 * An event of the journal. The members of its objects are described in docs/spec/events.md, not in this schema. Its TypeScript type is the
 * one that the journal uses.
 */
export const eventView = z.looseObject({
  id: text,
  uuid: text,
  message: text,
  timestamp: z.object({ timestamp: text, cwa_14051: text }),
  data: members,
  account: members,
  component: members,
  server: members,
}) as unknown as z.ZodType<ServiceEvent>;
export type EventView = z.infer<typeof eventView>;

/** The query of `GET /api/events/live`. */
export const eventQuery = z.object({
  since: time.optional().describe('Earliest time.'),
  until: time.optional().describe('End of the time range, excluded.'),
  id: text.optional().describe('IDs of events, comma-separated.'),
  not_id: text.optional().describe('IDs of events that are left out, comma-separated.'),
  status: text
    .optional()
    .describe(
      `Outcomes of events, comma-separated: ${eventStatuses.join(', ')}. A refused login of an administrator is a failure; a pause is informational.`,
    ),
  group: text.optional().describe(`Groups of events, comma-separated: ${eventGroups.join(', ')}.`),
  account: texts.describe('Name or UUID of an account, or a name used in a login; repeatable.'),
  path: texts.describe('A virtual or real path. With a final `/` it also selects everything below; repeatable.'),
  address: texts.describe('Address of a client; repeatable.'),
  request_id: texts.describe('ID of a request; repeatable.'),
  component: texts.describe('UUID of the component that caused the event; repeatable.'),
  message: texts.describe('A message; events match if theirs differ only in quoted names and in numbers; repeatable.'),
  text: text.optional().describe('Text in any value; not a pattern, case-sensitive.'),
});

/** The query of `GET /api/events`. */
export const eventPageQuery = eventQuery.extend({
  limit: z.int().min(1).max(1000).default(100).describe('Maximum number of items.'),
  cursor: text.optional().describe('`next` of the previous page.'),
});

/** The reply to `GET /api/events`. */
export const eventPage = z.object({
  events: z.array(eventView),
  begin: text.describe('Position in the journal at which the page begins; a live stream from here has all later events.'),
  next: text.nullable(),
  searched: z.object({ files: count, bytes: count }),
  is_complete: z.boolean(),
});
export type EventPage = z.infer<typeof eventPage>;

/** The query of `GET /api/events/histogram`. */
export const histogramQuery = eventQuery.extend({
  buckets: z.int().min(1).max(200).default(60).describe('Number of parts of the time range.'),
  whole: z
    .literal('1')
    .optional()
    .describe('If `since` is not given, the range begins at the oldest event of the journal instead of a day before `until`.'),
});

/** The reply to `GET /api/events/histogram`. */
export const eventHistogram = z.object({
  since: time.describe('Start of the first part. If the query has no `since`: a day before `until` or, with `whole`, the oldest event.'),
  until: time.describe('End of the last part. If the query has no `until`: the present.'),
  bucket_seconds: z.number().nonnegative(),
  counts: z.array(z.object({ events: count, failures: count })).describe('The oldest part first.'),
  counted_since: time.describe('If this is later than `since`, older events are not counted, because the search reached its limits.'),
});
export type EventHistogram = z.infer<typeof eventHistogram>;

/** The reply to `GET /api/events/catalogue`: every kind of event. */
export const eventKinds = z.object({
  events: z.array(
    z.object({
      id: text,
      name: text.describe('A few words, in English.'),
      message: text.describe('The message of such events, in English. `{member}` stands for a member of `data`.'),
      groups: z.array(text),
      severity: z.enum(['error', 'warning', 'success', 'information']),
      is_routine: z.boolean().describe('A frequent event about routine work of the service.'),
    }),
  ),
});
export type EventKinds = z.infer<typeof eventKinds>;
