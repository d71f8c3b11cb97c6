import type { LogPosition } from '../../events/journal/position.ts';
import { isObject, parseJson } from '../../lib/json.ts';
import type { DeliveryRecord } from './delivery-record-schema.ts';

export type { Attempt, DeliveryOutcome, DeliveryRecord, RecordedFile, RecordedReply } from './delivery-record-schema.ts';

/** `deliveries` are records of automatic deliveries, `replays` are records of manual ones. */
export const recordKinds = ['deliveries', 'replays'] as const;
export type RecordKind = (typeof recordKinds)[number];

/** Reads records of deliveries, from files or from streams in Redis. */
export interface DeliveryRecords {
  /** Yields the existing records, oldest first. Reports and skips malformed lines. @param from undefined for the oldest record */
  read(
    kind: RecordKind,
    from: LogPosition | undefined,
    onBadLine: (reason: string) => void,
  ): AsyncGenerator<{ record: DeliveryRecord; position: LogPosition }>;
  /** The position from which records since a time (Unix time in milliseconds) are read. */
  since(kind: RecordKind, sinceMs: number): LogPosition | undefined;
  /** The record at a position; undefined if there is none, or if it has been removed. */
  at(kind: RecordKind, position: LogPosition): Promise<DeliveryRecord | undefined>;
  /** Yields the existing records, newest first. Skips malformed lines. The first step has the position where the search begins. */
  newestFirst(kind: RecordKind, search: RecordSearch): AsyncGenerator<SearchStep>;
}

/** Limits of a search. They only reduce the number of records that the caller has to filter. */
export interface RecordSearch {
  /** Only records before this position are searched. */
  before: LogPosition | undefined;
  /** Records older than this Unix time, in milliseconds, may be left out. */
  sinceMs: number | undefined;
  /** Records whose JSON lacks one of these texts may be left out. */
  needles: readonly string[];
}

/** One step of a search from the newest record to the oldest. */
export interface SearchStep {
  /** The records from this position on have been searched. */
  position: LogPosition;
  record?: DeliveryRecord;
  /** Bytes read since the previous step. */
  readBytes: number;
}

/** Parses one line of the records. @returns undefined if a member is missing that readers need */
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
