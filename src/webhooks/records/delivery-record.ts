import type { LogPosition } from '../../events/journal/position.ts';
import { parseJson } from '../../lib/json.ts';
import type { RecordedBody } from '../payload/payload.ts';

/** What came of a delivery: `failed` after all retries and URLs, `discarded` because the endpoint was busy. */
export type DeliveryOutcome = 'delivered' | 'failed' | 'discarded';

/** One request of a delivery. */
export interface Attempt {
  /** Without its query, which may hold secrets. */
  url: string;
  /** ISO 8601, UTC. */
  time: string;
  duration_ms: number;
  status?: number;
  /** Reason phrase of the reply. */
  reason?: string;
  /** Why the attempt failed; absent for a success. */
  error?: string;
}

/** The reply of the last attempt, kept with what was not delivered (docs/spec/delivery.md#records). */
export interface RecordedReply {
  status: number;
  reason: string;
  headers: [string, string][];
  /** The first 64 KiB, as text. */
  body: string;
  is_truncated: boolean;
}

/** One line of the record of deliveries: one request's worth of events, with all attempts. */
export interface DeliveryRecord {
  /** ISO 8601, UTC: when the outcome was certain. */
  time: string;
  handler: string;
  outcome: DeliveryOutcome;
  /** What was sent; `position` is where the event stands in the journal. */
  events: { id: string; uuid: string; position?: string }[];
  attempts: Attempt[];
  /** For people: why it was not delivered. */
  details?: string;
  method: string;
  content_type?: string;
  /** The body as it was sent, but for the journal's lines in it. */
  body?: RecordedBody;
  reply?: RecordedReply;
  /** An upload waited for it, or it was sent again by hand; absent for deliveries in the background. */
  source?: 'upload' | 'replay';
  /** Where the handler goes on in the journal; absent unless delivered in the background. */
  resume?: string;
}

/** Deliveries of the service, and those made by hand. */
export type RecordKind = 'deliveries' | 'replays';

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
