import type { ShownGrant } from '../auth/grants/shown-grant.ts';
import type { Checked } from '../config/check.ts';
import type { LoadedConfig } from '../config/reading/load.ts';
import type { Collections } from '../control/collection.ts';
import type { Counts } from '../control/shown-node.ts';
import type { EventLog } from '../events/journal/event-log.ts';
import type { LogPosition } from '../events/journal/position.ts';
import type { ExpectationWatch } from '../expectations/watch.ts';
import type { DeliveryEngine } from '../webhooks/engine/delivery-engine.ts';
import type { DeliveryRecord, DeliveryRecords } from '../webhooks/records/delivery-record.ts';
import type { ReplayRequest } from '../webhooks/replay/replay-jobs.ts';
import type { ShownDependencies } from '../webhooks/replay/shown-requests.ts';
import type { AccountPage, AccountView } from './api/schemas/accounts.ts';
import type { ReloadOfAll } from './api/schemas/configuration.ts';
import type { WantingHandler } from './api/schemas/deliveries.ts';
import type { HandlerList, Levels, Overview } from './api/schemas/overview.ts';
import type { ReplayList, ReplayView } from './api/schemas/replays.ts';

/** All data and actions of a console. They are implemented in `server/`. All figures are for the whole installation. */
export interface ConsoleSources {
  /** The journal of all nodes. */
  journal(): EventLog;
  overview(): Promise<Overview>;
  figures(): Promise<Counts & Levels>;
  readonly deliveries: DeliverySources;
  readonly accounts: AccountSource;
  /** Sessions, locks, bans, uploads, trash and held uploads: their items can be listed and removed. */
  readonly collections: Collections;
  expectations(): Pick<ExpectationWatch, 'list' | 'history' | 'between' | 'excuse' | 'expectAgain' | 'requireKnown'>;
  readonly grants: {
    list(kind: 'token' | 'link', account: string | undefined): Promise<ShownGrant[]>;
    /** @returns the IDs of the tokens or links that were revoked */
    revoke(kind: 'token' | 'link', ids: readonly string[], by: string): Promise<string[]>;
  };
  readonly configuration: ConfigurationSource;
}

export interface AccountsWanted {
  /** Part of the name; empty for all. */
  search: string;
  /** UUID of the group; undefined for all groups. */
  group: string | undefined;
  /** Name after which the list begins. */
  after: string | undefined;
  limit: number;
}

export interface AccountSource {
  /** Lists accounts, sorted by name. @throws ServiceError `unavailable` while Redis or the journal cannot be read */
  list(wanted: AccountsWanted): Promise<AccountPage>;
  /** @throws ServiceError `not-found`, and the errors of `list` */
  find(name: string): Promise<AccountView>;
}

export interface DeliverySources {
  readonly records: DeliveryRecords;
  readonly replays: ReplaySource;
  shown(): ShownDependencies;
  handlers(): Promise<HandlerList>;
  /** Returns the handlers that want the event at a position of the journal. @throws ServiceError `unavailable` */
  wanting(position: LogPosition): Promise<WantingHandler[]>;
  control(): Pick<DeliveryEngine, 'start' | 'pause' | 'resume' | 'suspendedUrls' | 'liftSuspension'>;
  /** Sends event `testEventSent` to a handler. @throws ServiceError `not-found`, and the errors of `sendTest` */
  sendTest(handler: string, by: string): Promise<DeliveryRecord>;
}

export interface ReplaySource {
  /**
   * Starts a replay on this node.
   *
   * @param by name of the administrator
   * @returns its ID
   * @throws ServiceError `too-many-requests` if too many replays are waiting; `bad-request` for a handler that is not configured,
   * `unavailable` for a handler that cannot be created
   */
  start(request: ReplayRequest, by: string): Promise<string>;
  /** Returns the replays, newest first. */
  list(): Promise<ReplayList>;
  /** @throws ServiceError `not-found`; `unavailable` if the node of the replay cannot be asked */
  find(id: string): Promise<ReplayView>;
  /** Returns the results so far as NDJSON. @throws the errors of `find` */
  results(id: string): Promise<string>;
  /** Ends a replay that is running or waiting. @throws the errors of `find` */
  cancel(id: string): Promise<void>;
}

export interface ConfigurationSource {
  /** Path of the file; undefined if svc runs without a file. In that case, `checked` returns undefined, too. */
  path(): string | undefined;
  running(): LoadedConfig;
  /** Checks the file on disk. @throws ServiceError `bad-request` if it cannot be read */
  checked(): Checked | undefined;
  /** Reloads the file on all nodes. Each node applies the file or refuses it. */
  reload(): Promise<ReloadOfAll>;
}
