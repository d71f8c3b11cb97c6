import * as z from 'zod';
import type { LogPosition } from '../../events/journal/position.ts';
import { parseJson } from '../../lib/json.ts';
import { recordedBody } from '../payload/payload.ts';

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
const recordedReply = z.strictObject({
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

/** Deliveries of the service, and those made by hand. */
export const recordKinds = ['deliveries', 'replays'] as const;
export type RecordKind = (typeof recordKinds)[number];

/** Where records of deliveries are read. Implementations: files here, streams in Redis for many nodes. */
export interface DeliveryRecords {
  /**
   * The records so far, oldest first. What is none is reported and skipped.
   *
   * @param from where to begin; undefined for the oldest that is kept
   */
  read(
    kind: RecordKind,
    from: LogPosition | undefined,
    onBadLine: (reason: string) => void,
  ): AsyncGenerator<{ record: DeliveryRecord; position: LogPosition }>;
  /** Where to begin reading records that are not older than a time, in Unix milliseconds. */
  since(kind: RecordKind, sinceMs: number): LogPosition | undefined;
  /** The record that begins at a position; undefined when there is none, or none any more. */
  at(kind: RecordKind, position: LogPosition): Promise<DeliveryRecord | undefined>;
  /** The records so far, newest first. What is none is passed over. The first step says where the search begins. */
  newestFirst(kind: RecordKind, search: RecordSearch): AsyncGenerator<SearchStep>;
}

/** Which records are looked at, before they are filtered. */
export interface RecordSearch {
  /** Only what stands before it. */
  before: LogPosition | undefined;
  /** Only records that are not older, Unix time in milliseconds; older ones may come, too. */
  sinceMs: number | undefined;
  /** Texts that the JSON of each record has in it; others may be left out. */
  signs: readonly string[];
}

/** One step of a search back in time. */
export interface SearchStep {
  /** Everything at and behind it is looked at. */
  position: LogPosition;
  record?: DeliveryRecord;
  /** How much was read since the step before. */
  readBytes: number;
}

/** Reads one line of the record. @returns undefined when it has not what readers rely on */
export function parseDeliveryRecord(line: string): DeliveryRecord | undefined {
  try {
    const record = parseJson(line) as Partial<DeliveryRecord> | null;
    return isDeliveryRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function isDeliveryRecord(value: Partial<DeliveryRecord> | null): value is DeliveryRecord {
  return (
    typeof value?.handler === 'string' &&
    typeof value.outcome === 'string' &&
    typeof value.time === 'string' &&
    Array.isArray(value.attempts) &&
    Array.isArray(value.events) &&
    value.events.every((event) => typeof event?.uuid === 'string' && typeof event.id === 'string')
  );
}
