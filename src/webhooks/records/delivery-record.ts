import type { LogPosition } from '../../events/journal/position.ts';
import { isObject, parseJson } from '../../lib/json.ts';
import type { DeliveryRecord } from './delivery-record-schema.ts';

export type { Attempt, DeliveryOutcome, DeliveryRecord, RecordedReply } from './delivery-record-schema.ts';

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
  needles: readonly string[];
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
    value.attempts.every((attempt) => typeof attempt?.url === 'string' && typeof attempt.time === 'string') &&
    (value.body === undefined || isObject(value.body)) &&
    (value.reply === undefined || (isObject(value.reply) && Array.isArray(value.reply.headers))) &&
    Array.isArray(value.events) &&
    value.events.every((event) => typeof event?.uuid === 'string' && typeof event.id === 'string')
  );
}
