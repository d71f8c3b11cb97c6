import type { LogPosition } from '../../events/journal/position.ts';
import { isObject, parseJson } from '../../lib/json.ts';
import type { DeliveryRecord } from './delivery-record-schema.ts';

export type { Attempt, DeliveryOutcome, DeliveryRecord, RecordedFile, RecordedReply } from './delivery-record-schema.ts';

/** Deliveries of the service, and those made by hand. */
export const recordKinds = ['deliveries', 'replays'] as const;
export type RecordKind = (typeof recordKinds)[number];

/** Reads records of deliveries, from files or from streams in Redis. */
export interface DeliveryRecords {
  /** The records so far, oldest first. Other lines are reported and skipped. @param from undefined for the oldest record */
  read(
    kind: RecordKind,
    from: LogPosition | undefined,
    onBadLine: (reason: string) => void,
  ): AsyncGenerator<{ record: DeliveryRecord; position: LogPosition }>;
  /** Where to begin reading records that are not older than a time, in Unix milliseconds. */
  since(kind: RecordKind, sinceMs: number): LogPosition | undefined;
  /** The record at a position; undefined when there is none, or none any more. */
  at(kind: RecordKind, position: LogPosition): Promise<DeliveryRecord | undefined>;
  /** The records so far, newest first. Other lines are skipped. The first step tells where the search begins. */
  newestFirst(kind: RecordKind, search: RecordSearch): AsyncGenerator<SearchStep>;
}

/** Limits a search before its records are filtered. */
export interface RecordSearch {
  /** Only records before it. */
  before: LogPosition | undefined;
  /** Unix time in milliseconds: older records may be left out. */
  sinceMs: number | undefined;
  /** Records whose JSON lacks one of these texts may be left out. */
  needles: readonly string[];
}

/** One step of a search back in time. */
export interface SearchStep {
  /** Everything from it on was searched. */
  position: LogPosition;
  record?: DeliveryRecord;
  /** Bytes read since the step before. */
  readBytes: number;
}

/** Parses one line of the record. @returns undefined when it lacks what readers rely on */
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
