import type { LogPosition } from '../../events/journal/position.ts';
import { isObject, parseJson } from '../../lib/json.ts';
import type { DeliveryRecord } from './delivery-record-schema.ts';

export type { Attempt, DeliveryFault, DeliveryOutcome, DeliveryRecord, RecordedFile, RecordedReply } from './delivery-record-schema.ts';

/** The kinds of records: `deliveries` for automatic deliveries, and `replays` for manual ones. */
export const recordKinds = ['deliveries', 'replays'] as const;
export type RecordKind = (typeof recordKinds)[number];

/** Reads records of deliveries. One implementation reads files, and another one reads Redis streams. */
export interface DeliveryRecords {
  /** Yields the existing records, oldest first. Malformed lines are reported and skipped. @param from undefined for the oldest record */
  read(
    kind: RecordKind,
    from: LogPosition | undefined,
    onBadLine: (reason: string) => void,
  ): AsyncGenerator<{ record: DeliveryRecord; position: LogPosition }>;
  /** Finds the position from which to read the records since a time (Unix time in milliseconds). */
  since(kind: RecordKind, sinceMs: number): LogPosition | undefined;
  /** Reads the record at a position; undefined if there is none, or if it has been removed. */
  at(kind: RecordKind, position: LogPosition): Promise<DeliveryRecord | undefined>;
  /**
   * Yields the existing records, newest first. Malformed lines are skipped. The first step has the position at which the search begins.
   */
  newestFirst(kind: RecordKind, search: RecordSearch): AsyncGenerator<SearchStep>;
}

/** Limits of a search. They only reduce the number of records that the caller has to filter. */
export interface RecordSearch {
  before: LogPosition | undefined;
  /** Records older than this Unix time in milliseconds may be left out. */
  sinceMs: number | undefined;
  /** Records whose JSON does not contain all of these texts may be left out. */
  needles: readonly string[];
}

export interface SearchStep {
  /** All records at this position and newer ones have been searched. */
  position: LogPosition;
  record?: DeliveryRecord;
  /** Number of bytes that were read since the previous step. */
  readBytes: number;
}

/** Parses a line of the records. @returns undefined if the line is malformed, or a required member is missing */
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
