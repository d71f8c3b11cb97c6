import * as z from 'zod';
import { replay, text, time } from '../../../control/shown-node.ts';
import { eventIds } from '../../../events/event-ids.ts';
import { incomplete } from './overview.ts';

const texts = z.array(text);

/** Which events are meant. */
export const eventFilter = z.strictObject({
  since: time.optional(),
  until: time.optional(),
  id: texts.optional().describe(`IDs of events, such as ${eventIds.fileUploaded}.`),
  group: texts.optional().describe('Groups of the catalogue.'),
  account: texts.optional(),
  path: texts.optional().describe('One that ends in / is a folder with all that is below it.'),
  address: texts.optional(),
  request_id: texts.optional(),
  text: text.optional().describe('Stands in some value of the event.'),
});

/** `POST /api/replays`. */
export const replayRequest = z
  .strictObject({
    deliveries: texts.optional().describe('IDs of deliveries; their events go to the same handlers; the filters of today do not count.'),
    events: texts.optional().describe('UUIDs of events.'),
    filter: eventFilter.optional(),
    failed: z.boolean().optional().describe('Only what was failed, discarded or never sent, and is not going to be.'),
    force: z.boolean().optional().describe('Also what the filters of a handler leave out.'),
    handlers: texts.optional().describe('UUIDs of handlers; without them all that are enabled.'),
    dry_run: z.boolean().optional().describe('Show what would be sent, and send nothing.'),
  })
  .describe('Either `deliveries`, or `events`, `filter` and `failed`, which all must hold.');
export type ApiReplayRequest = z.infer<typeof replayRequest>;

/** `GET /api/replays/{id}`. */
export const replayView = replay.extend({ node: text.describe('Which node makes it; others know its progress two seconds later.') });
export type ReplayView = z.infer<typeof replayView>;

/** `GET /api/replays`. */
export const replayList = z.object({ replays: z.array(replayView), incomplete });
export type ReplayList = z.infer<typeof replayList>;
