import * as z from 'zod';
import { count, text, time } from '../../../control/shown-node.ts';
import { eventGroups } from '../../../events/catalogue.ts';
import type { ServiceEvent } from '../../../events/event.ts';
import { deliveryView } from './deliveries.ts';

const members = z.record(text, z.unknown());
const texts = z.array(text).optional();

/** An event as it stands in the journal: the document leaves its objects to docs/spec/events.md, the type is that of the journal. */
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
  since: time.optional().describe('Not older.'),
  until: time.optional().describe('Older.'),
  id: text.optional().describe('IDs of events, comma-separated.'),
  group: text.optional().describe(`Groups of events, comma-separated: ${eventGroups.join(', ')}.`),
  account: texts.describe('Name or UUID of an account, or a name that somebody tried to log in with; repeatable.'),
  path: texts.describe('A path, virtual or on disk; one that ends in `/` with all that is below it; repeatable.'),
  address: texts.describe('Address of a client; repeatable.'),
  request_id: texts.describe('ID of a request; repeatable.'),
  text: text.optional().describe('Stands in some value, as it is: no pattern, and capitals count.'),
});

/** The query of `GET /api/events`. */
export const eventPageQuery = eventQuery.extend({
  limit: z.int().min(1).max(1000).default(100).describe('Most of a page, or of all.'),
  cursor: text.optional().describe('`next` of the page before.'),
});

/** `GET /api/events`. */
export const eventPage = z.object({
  events: z.array(eventView),
  begin: text.describe('Where the page begins: a live tail after it tells what came later.'),
  next: text.nullable(),
  searched: z.object({ files: count, bytes: count }),
  is_complete: z.boolean(),
});
export type EventPage = z.infer<typeof eventPage>;

/** `GET /api/events/{uuid}`. */
export const openedEvent = z.object({ event: eventView, deliveries: z.array(deliveryView), request_events: z.array(eventView) });
export type OpenedEvent = z.infer<typeof openedEvent>;
