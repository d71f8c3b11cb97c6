import * as z from 'zod';
import { text, time } from '../../../control/shown-node.ts';
import { eventIds } from '../../../events/event-ids.ts';
import { attempt, deliveryOutcome, fault, recordedFile, recordedReply } from '../../../webhooks/records/delivery-record-schema.ts';
import { eventView } from './events.ts';

export const attemptView = attempt.extend({ time, duration_ms: z.number().nonnegative() });
export type AttemptView = z.infer<typeof attemptView>;

export const deliveryView = z.object({
  id: text,
  time,
  handler: text,
  outcome: deliveryOutcome,
  events: z.array(z.object({ id: text, uuid: text })),
  attempts: z.array(attemptView),
  details: text,
  fault: fault.exactOptional().describe('The reason in `details` as a code; missing if there is no code for it.'),
  source: z.enum(['service', 'upload', 'replay', 'test']),
  file: recordedFile.exactOptional().describe('The file that a handler of type `forward` sent.'),
});
export type DeliveryView = z.infer<typeof deliveryView>;

/** A delivery as lists show it. */
export const listedDelivery = deliveryView.extend({
  first_event: eventView.exactOptional().describe('The first of the events; missing if the journal no longer has it.'),
});
export type ListedDelivery = z.infer<typeof listedDelivery>;

/** The query of `GET /api/deliveries`. */
export const deliveryQuery = z.object({
  handler: text.describe('UUID of a handler; repeatable.'),
  outcome: text.describe('Outcomes, comma-separated: `delivered`, `failed`, `discarded`.'),
  kind: text.describe('`deliveries` (made by the service) or `replays` (made by hand).'),
  since: time.describe('Earliest time.'),
  until: time.describe('End of the time range, excluded.'),
  event_id: text.describe(`ID of a kind of event, such as ${eventIds.fileUploaded}.`),
  event_uuid: text.describe('UUID of an event.'),
  limit: z.int().min(1).max(500).default(50).describe('Maximum number of items on a page.'),
  cursor: text.describe('`next` of the previous page.'),
});

/** The reply to `GET /api/deliveries`. */
export const deliveryPage = z.object({ deliveries: z.array(listedDelivery), next: text.nullable() });
export type DeliveryPage = z.infer<typeof deliveryPage>;

const madeFrom = z.enum(['record', 'configuration']);

/** The reply to `GET /api/deliveries/{id}`. */
export const openedDelivery = z.object({
  ...listedDelivery.shape,
  request: z.object({
    method: text,
    url: text,
    headers: z.object({ from: madeFrom, values: z.record(text, text) }),
    body: z.object({ from: madeFrom, text, is_truncated: z.boolean() }).nullable(),
  }),
  reply: recordedReply.nullable().describe('Last reply of a failed delivery.'),
});
export type OpenedDelivery = z.infer<typeof openedDelivery>;

/** The reply to `POST /api/handlers/{uuid}/test`. */
export const testedHandler = z.object({
  outcome: deliveryOutcome,
  details: text,
  fault: fault.exactOptional(),
  attempts: z.array(attemptView),
  event_uuid: text,
});
export type TestedHandler = z.infer<typeof testedHandler>;

const wantingHandler = z.object({
  handler: text,
  waits: z.boolean().describe('Whether the handler has not finished with the events before this one, or not with this one.'),
});
export type WantingHandler = z.infer<typeof wantingHandler>;

/** The reply to `GET /api/events/{uuid}`. */
export const openedEvent = z.object({
  event: eventView,
  deliveries: z.array(deliveryView),
  wanted_by: z.array(wantingHandler).describe('Enabled handlers whose filter the event passes.'),
  request_events: z.array(eventView),
});
export type OpenedEvent = z.infer<typeof openedEvent>;
