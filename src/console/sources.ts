import type { ShownGrant } from '../auth/grants/shown-grant.ts';
import type { Checked } from '../config/check.ts';
import type { LoadedConfig } from '../config/reading/load.ts';
import type { Collections } from '../control/collection.ts';
import type { Counts } from '../control/shown-node.ts';
import type { EventLog } from '../events/journal/event-log.ts';
import type { ExpectationWatch } from '../expectations/watch.ts';
import type { DeliveryEngine } from '../webhooks/engine/delivery-engine.ts';
import type { DeliveryRecord, DeliveryRecords } from '../webhooks/records/delivery-record.ts';
import type { ReplayRequest } from '../webhooks/replay/replay-jobs.ts';
import type { ShownDependencies } from '../webhooks/replay/shown-requests.ts';
import type { AccountPage, AccountView } from './api/schemas/accounts.ts';
import type { ReloadOfAll } from './api/schemas/configuration.ts';
import type { HandlerList, Levels, Overview } from './api/schemas/overview.ts';
import type { ReplayList, ReplayView } from './api/schemas/replays.ts';

/** All data and actions of a console, implemented in `server/`. All figures are those of the whole installation. */
export interface ConsoleSources {
  /** The journal, of all nodes. */
  journal(): EventLog;
  overview(): Promise<Overview>;
  /** For the charts. */
  figures(): Promise<Counts & Levels>;
  readonly deliveries: DeliverySources;
  readonly accounts: AccountSource;
  /** Sessions, locks, bans, uploads and trash, which operators list and remove. */
  readonly collections: Collections;
  /** Files that are due. */
  expectations(): Pick<ExpectationWatch, 'list' | 'history' | 'between' | 'excuse' | 'expectAgain' | 'requireKnown'>;
  /** Tokens and links in force, newest first, and their end. */
  readonly grants: {
    list(kind: 'token' | 'link', account: string | undefined): Promise<ShownGrant[]>;
    /** @returns IDs of those that ended */
    revoke(kind: 'token' | 'link', ids: readonly string[], by: string): Promise<string[]>;
  };
  readonly configuration: ConfigurationSource;
}

/** Which accounts are listed. */
export interface AccountsWanted {
  /** Part of the name; empty for all. */
  search: string;
  /** UUID of the group. */
  group: string | undefined;
  /** Those behind this name. */
  after: string | undefined;
  limit: number;
}

/** The accounts, as far as they are known. */
export interface AccountSource {
  /** By name. @throws ServiceError `unavailable` while Redis, or the journal, cannot be read */
  list(wanted: AccountsWanted): Promise<AccountPage>;
  /** @throws ServiceError `not-found`, and as `list` */
  find(name: string): Promise<AccountView>;
}

/** Deliveries, replays and event handlers. */
export interface DeliverySources {
  readonly records: DeliveryRecords;
  readonly replays: ReplaySource;
  /** All that is read to show one delivery. */
  shown(): ShownDependencies;
  handlers(): Promise<HandlerList>;
  control(): Pick<DeliveryEngine, 'start' | 'pause' | 'resume' | 'suspendedUrls' | 'liftSuspension'>;
  /** Sends event `testEventSent` to a handler. @throws ServiceError `not-found`, and as `sendTest` */
  sendTest(handler: string, by: string): Promise<DeliveryRecord>;
}

/** The replays of all nodes. */
export interface ReplaySource {
  /**
   * Starts a replay on this node.
   *
   * @param by name of the administrator
   * @returns its ID
   * @throws ServiceError `too-many-requests` when too many wait, `bad-request` and `unavailable` as `ReplayJob`
   */
  start(request: ReplayRequest, by: string): Promise<string>;
  /** The newest first. */
  list(): Promise<ReplayList>;
  /** @throws ServiceError `not-found`, `unavailable` when its node cannot be asked */
  find(id: string): Promise<ReplayView>;
  /** The results so far, NDJSON. @throws as `find` */
  results(id: string): Promise<string>;
  /** Ends a replay that runs or waits. @throws as `find` */
  cancel(id: string): Promise<void>;
}

/** The running configuration, and its file. */
export interface ConfigurationSource {
  /** Undefined without a file, as is `checked`. */
  path(): string | undefined;
  running(): LoadedConfig;
  /** Checks the file on disk. @throws ServiceError `bad-request` when it cannot be read */
  checked(): Checked | undefined;
  /** Reloads the file on all nodes; each takes it over or refuses it. */
  reload(): Promise<ReloadOfAll>;
}
