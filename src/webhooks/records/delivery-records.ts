import type { LogPosition } from '../../events/journal/position.ts';
import { readDeliveries, recordsSince } from './delivery-log.ts';
import type { DeliveryRecord } from './delivery-record.ts';

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

/** The records in a folder of files. */
export function fileRecords(folder: string): DeliveryRecords {
  return {
    read: (kind, from, onBadLine) => readDeliveries(folder, kind, from, onBadLine),
    since: (kind, sinceMs) => recordsSince(folder, kind, sinceMs),
  };
}
