import type { Source } from '../../config/reading/source.ts';
import type { Config } from '../../config/schema/schema.ts';
import type { BadLine, EventReader } from '../../events/journal/event-log.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import type { DeliveryRecord, DeliveryRecords } from '../../webhooks/records/delivery-record.ts';

/** The journal of a service, or of all nodes of one, and its configuration when there is one. */
export interface Journal {
  config: Config | undefined;
  /** The file of the configuration, as it was written. */
  source: Source | undefined;
  /** Why there is no journal; undefined when there is one. */
  missing: string | undefined;
  serverUuid: string | undefined;
  openReader(onBadLine: (bad: BadLine) => void): EventReader;
  /** Where to begin reading events that are not older than a time. */
  since(sinceMs: number | undefined): LogPosition | undefined;
  records: DeliveryRecords;
  /** Begins the record of deliveries made by hand. */
  openReplayLog(): { append(record: DeliveryRecord): void; close(): Promise<void> };
  /** Where the handlers of a running service stand; undefined when none runs. */
  runningPositions(): Promise<ReadonlyMap<string, LogPosition> | undefined>;
  close(): Promise<void>;
}
