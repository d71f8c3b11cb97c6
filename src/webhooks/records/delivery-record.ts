import type { LogPosition } from '../../events/journal/position.ts';
import { isObject, parseJson } from '../../lib/json.ts';
import type { DeliveryRecord } from './delivery-record-schema.ts';

export type { Attempt, DeliveryOutcome, DeliveryRecord, RecordedFile, RecordedReply } from './delivery-record-schema.ts';

/** `deliveries` for automatic deliveries, and `replays` for manual ones. */
export const recordKinds = ['deliveries', 'replays'] as const;
export type RecordKind = (typeof recordKinds)[number];

/** Reads records of deliveries, from files or Redis streams. */
export interface DeliveryRecords {
  /** Yields the existing records, oldest first. Malformed lines are reported and skipped. @param from undefined for the oldest */
  read(
    kind: RecordKind,
    from: LogPosition | undefined,
    onBadLine: (reason: string) => void,
  ): AsyncGenerator<{ record: DeliveryRecord; position: LogPosition }>;
  /** Finds the position of the records since a Unix time in milliseconds. */
  since(kind: RecordKind, sinceMs: number): LogPosition | undefined;
  /** Reads the record at a position; undefined if it does not exist (any more). */
  at(kind: RecordKind, position: LogPosition): Promise<DeliveryRecord | undefined>;
  /** Yields the existing records, newest first. Malformed lines are skipped. The first step has the start of the search. */
  newestFirst(kind: RecordKind, search: RecordSearch): AsyncGenerator<SearchStep>;
}

/** Limits of a search. They only spare the caller some filtering. */
export interface RecordSearch {
  before: LogPosition | undefined;
  /** Older records may be left out. Unix time in milliseconds. */
  sinceMs: number | undefined;
  /** Records without all of these texts in their JSON may be left out. */
  needles: readonly string[];
}

export interface SearchStep {
  /** All newer records have been searched. */
  position: LogPosition;
  record?: DeliveryRecord;
  /** Number of bytes that were read since the previous step. */
  readBytes: number;
}

/** Parses a record. @returns undefined if the line is malformed or incomplete */
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
