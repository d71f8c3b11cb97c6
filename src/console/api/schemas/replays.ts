import * as z from 'zod';
import { replay, text, time } from '../../../control/shown-node.ts';
import { eventIds } from '../../../events/event-ids.ts';
import { incomplete } from './overview.ts';

const texts = z.array(text);

/** Selects the events of a replay. */
export const eventFilter = z.strictObject({
  since: time.optional(),
  until: time.optional(),
  id: texts.optional().describe(`IDs of events, such as ${eventIds.fileUploaded}.`),
  not_id: texts.optional().describe('IDs of events that are left out.'),
  status: texts.optional().describe('Outcomes of events: `success`, `failure`, `informational`.'),
  group: texts.optional().describe('Groups of events, as `GET /api/events/catalogue` lists them.'),
  account: texts.optional(),
  path: texts.optional().describe('With a final `/` it also selects everything below.'),
  address: texts.optional(),
  request_id: texts.optional(),
  component: texts.optional().describe('UUIDs of components that caused events.'),
  message: texts.optional().describe('Messages of events, which may differ in quoted names and in numbers.'),
  text: text.optional().describe('Text in any value of the event.'),
});

/** The body of `POST /api/replays`. */
export const replayRequest = z
  .strictObject({
    deliveries: texts.optional().describe('IDs of deliveries. Their events go to the same handlers, regardless of the current filters.'),
    events: texts.optional().describe('UUIDs of events.'),
    filter: eventFilter.optional(),
    failed: z
      .boolean()
      .optional()
      .describe(
        'Only events whose delivery failed, was discarded or was never tried, and that no running or paused handler will still send.',
      ),
    never_sent: z.boolean().optional().describe('With `failed`: also events whose delivery was never tried; the default is `true`.'),
    force: z.boolean().optional().describe('Also send events that the filters of a handler exclude.'),
    as_of: time
      .optional()
      .describe('Leaves out events and failures after this time. To send only what a count or a dry run found, give its `created`.'),
    handlers: texts.optional().describe('UUIDs of handlers; default: all enabled ones.'),
    stop_after_failures: z
      .int()
      .min(0)
      .max(10_000)
      .optional()
      .describe('Send no more to a handler after this number of failed requests to it in a row; 0 (the default) means never.'),
    dry_run: z.boolean().optional().describe('Send nothing, but show what would be sent.'),
    count_only: z
      .boolean()
      .optional()
      .describe('Send nothing, and only count what would be sent. `GET /api/replays` does not list the count.'),
  })
  .describe('Give either `deliveries`, or any of `events`, `filter` and `failed`: events must meet all that are given.');
export type ApiReplayRequest = z.infer<typeof replayRequest>;

/** The reply to `GET /api/replays/{id}`. */
export const replayView = replay.extend({
  node: text.describe('Node that runs the replay; other nodes know its progress two seconds later.'),
});
export type ReplayView = z.infer<typeof replayView>;

/** The reply to `GET /api/replays`. */
export const replayList = z.object({ replays: z.array(replayView), incomplete });
export type ReplayList = z.infer<typeof replayList>;
