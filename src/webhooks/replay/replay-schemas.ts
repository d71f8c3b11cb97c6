import * as z from 'zod';
import { attempt, deliveryOutcome, sentEvent } from '../records/delivery-record-schema.ts';

/** A request for people's eyes: what would be sent, secrets masked. */
export const shownRequest = z.strictObject({
  handler: z.string(),
  method: z.string(),
  url: z.string().describe('Without its own query, which may hold secrets.'),
  headers: z.record(z.string(), z.string()).describe('Names in lower case; values that may be secrets are ***.'),
  body: z.string(),
});

export type ShownRequest = z.infer<typeof shownRequest>;

/** What today's configuration would send differently. */
export const requestDifference = z.strictObject({
  handler: z.string(),
  events: z.array(sentEvent),
  differences: z.array(z.string()).describe('Lines that begin with - or +.'),
});
export type RequestDifference = z.infer<typeof requestDifference>;

const events = z.array(z.strictObject({ id: z.string(), uuid: z.string() }));

/** What a dry run says of one request. */
const dryResult = z.strictObject({
  handler: z.string(),
  events,
  request: shownRequest.extend({ is_truncated: z.boolean() }),
  delivery: z
    .string()
    .nullable()
    .describe('The newest delivery that begins with the same event; null without one, or when what it sent is not known any more.'),
  differences: z.array(z.string()).nullable().describe('Lines that begin with - or +; null without a delivery.'),
});
export type DryResult = z.infer<typeof dryResult>;

const sentResult = z.strictObject({
  handler: z.string(),
  outcome: deliveryOutcome,
  events,
  status: z.int().optional(),
  details: z.string().optional(),
  attempts: z.array(attempt),
});

/** A line of the results of a replay: of a request, or of what could not be sent. */
const replayResult = z.union([sentResult, dryResult, z.strictObject({ skipped: z.string(), reason: z.string() })]);
export type ReplayResult = z.infer<typeof replayResult>;
