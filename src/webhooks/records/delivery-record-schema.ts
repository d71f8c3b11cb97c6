import * as z from 'zod';

/**
 * How a body is kept with the record of its delivery, so that the very same bytes can be sent again: as text, or as what
 * stands before and behind the journal's lines.
 */
const recordedBody = z.union([
  z.strictObject({ text: z.string() }),
  z.strictObject({ before: z.string(), after: z.string() }),
  z.strictObject({ query: z.array(z.tuple([z.string(), z.string()])) }),
]);
export type RecordedBody = z.infer<typeof recordedBody>;

/** What came of a delivery: `failed` after all retries and URLs, `discarded` because the endpoint was busy. */
export const deliveryOutcome = z.enum(['delivered', 'failed', 'discarded']);
export type DeliveryOutcome = z.infer<typeof deliveryOutcome>;

/** An event that was sent; `position` is where it stands in the journal. */
export const sentEvent = z.strictObject({ id: z.string(), uuid: z.string(), position: z.string().exactOptional() });

/** One request of a delivery. */
export const attempt = z.strictObject({
  url: z.string().describe('Without its query, which may hold secrets.'),
  /** ISO 8601, UTC. */
  time: z.string(),
  duration_ms: z.number(),
  status: z.int().exactOptional(),
  /** Reason phrase of the reply. */
  reason: z.string().exactOptional(),
  /** Why the attempt failed; absent for a success. */
  error: z.string().exactOptional(),
});
export type Attempt = z.infer<typeof attempt>;

/** The reply of the last attempt, kept with what was not delivered (docs/spec/delivery.md#records). */
export const recordedReply = z.strictObject({
  status: z.int(),
  reason: z.string(),
  headers: z.array(z.tuple([z.string(), z.string()])),
  body: z.string().describe('The first 64 KiB, as text.'),
  is_truncated: z.boolean(),
});
export type RecordedReply = z.infer<typeof recordedReply>;

/** One line of the record of deliveries: one request's worth of events, with all attempts. */
export const deliveryRecord = z.strictObject({
  /** ISO 8601, UTC: when the outcome was certain. */
  time: z.string(),
  handler: z.string(),
  outcome: deliveryOutcome,
  events: z.array(sentEvent),
  attempts: z.array(attempt),
  /** For people: why it was not delivered. */
  details: z.string().exactOptional(),
  method: z.string(),
  content_type: z.string().exactOptional(),
  body: recordedBody.exactOptional(),
  reply: recordedReply.exactOptional(),
  /** An upload waited for it, it was sent again by hand, or a test was; absent for deliveries in the background. */
  source: z.enum(['upload', 'replay', 'test']).exactOptional(),
  resume: z.string().describe('Where the handler goes on in the journal; only for deliveries in the background.').exactOptional(),
});
export type DeliveryRecord = z.infer<typeof deliveryRecord>;
