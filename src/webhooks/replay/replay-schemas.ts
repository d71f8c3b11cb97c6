import * as z from 'zod';
import { sentEvent } from '../records/delivery-record-schema.ts';

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
