import type { Source } from '../../config/reading/source.ts';
import type { Config } from '../../config/schema/schema.ts';
import type { DeliveryRecord } from '../../webhooks/records/delivery-record.ts';
import type { ReplayedJournal } from '../../webhooks/replay/undelivered-events.ts';

/** The journal of a service, or of all nodes of one, and its configuration when there is one. */
export interface Journal extends ReplayedJournal {
  config: Config | undefined;
  /** The file of the configuration, as it was written. */
  source: Source | undefined;
  /** Why there is no journal; undefined when there is one. */
  missing: string | undefined;
  serverUuid: string | undefined;
  /** Begins the record of deliveries made by hand. */
  openReplayLog(): { append(record: DeliveryRecord): void; close(): Promise<void> };
  close(): Promise<void>;
}
