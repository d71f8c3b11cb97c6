import type { Checked } from '../config/check.ts';
import type { LoadedConfig } from '../config/reading/load.ts';
import type { Collections } from '../control/collection.ts';
import type { Counts } from '../control/shown-node.ts';
import type { EventLog } from '../events/journal/event-log.ts';
import type { Deliveries } from '../webhooks/records/deliveries.ts';
import type { DeliveryRecord, DeliveryRecords } from '../webhooks/records/delivery-record.ts';
import type { ReplayRequest } from '../webhooks/replay/replay-jobs.ts';
import type { ShownDependencies } from '../webhooks/replay/shown-delivery.ts';
import type { ReloadOfAll } from './api/schemas/configuration.ts';
import type { HandlerList, Levels, Overview } from './api/schemas/overview.ts';
import type { ReplayList, ReplayView } from './api/schemas/replays.ts';

/**
 * What a console shows and does, one member a subject; implemented in `server/`, where the parts are that it is asked of. All figures
 * are those of the whole installation.
 */
export interface ConsoleSources {
  /** The journal, of all nodes. */
  journal(): EventLog;
  overview(): Promise<Overview>;
  /** For the charts. */
  figures(): Promise<Counts & Levels>;
  readonly deliveries: DeliverySources;
  /** What operators list and remove. */
  readonly collections: Collections;
  readonly configuration: ConfigurationSource;
}

/** Deliveries, what is sent again, and event handlers. */
export interface DeliverySources {
  readonly records: DeliveryRecords;
  readonly replays: ReplaySource;
  /** What a delivery that is opened is read together with. */
  shown(): ShownDependencies;
  handlers(): Promise<HandlerList>;
  control(): Pick<Deliveries, 'start' | 'pause' | 'resume' | 'suspendedUrls' | 'liftSuspension'>;
  /** Sends event `testEventSent` to a handler. @throws ServiceError `not-found`, and as `sendTest` */
  sendTest(handler: string, by: string): Promise<DeliveryRecord>;
}

/** Replays, whichever node makes them. */
export interface ReplaySource {
  /**
   * Has this node make one.
   *
   * @param by who wants it
   * @returns its ID
   * @throws ServiceError `too-many-requests` when too many wait, `bad-request` and `unavailable` as `ReplayJob`
   */
  start(request: ReplayRequest, by: string): Promise<string>;
  /** The newest first. */
  list(): Promise<ReplayList>;
  /** @throws ServiceError `not-found`, `unavailable` when its node cannot be asked */
  find(id: string): Promise<ReplayView>;
  /** What came of each request so far, NDJSON. @throws as `find` */
  results(id: string): Promise<string>;
  /** Ends one that has not ended. @throws as `find` */
  cancel(id: string): Promise<void>;
}

/** The configuration in force, and its file. */
export interface ConfigurationSource {
  /** Where its file is; undefined without one. */
  path(): string | undefined;
  running(): LoadedConfig;
  /** What is wrong with the file as it stands now; undefined without one. @throws ServiceError `bad-request` when it cannot be read */
  checked(): Checked | undefined;
  /** Has all nodes take over the file as it stands now, or refuse it. */
  reload(): Promise<ReloadOfAll>;
}
