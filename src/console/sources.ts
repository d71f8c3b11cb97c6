import type { Checked } from '../config/check.ts';
import type { LoadedConfig } from '../config/reading/load.ts';
import type { ReloadReport } from '../config/reload-report-schema.ts';
import type { Collections } from '../control/collection.ts';
import type { EventLog } from '../events/journal/event-log.ts';
import type { Deliveries } from '../webhooks/records/deliveries.ts';
import type { DeliveryRecord, DeliveryRecords } from '../webhooks/records/delivery-record.ts';
import type { JobProgress, ReplayRequest } from '../webhooks/replay/replay-job.ts';
import type { ShownSurroundings } from '../webhooks/replay/shown-delivery.ts';
import type { Counts, Levels } from './samples.ts';

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
  shown(): ShownSurroundings;
  handlers(): Promise<{ handlers: HandlerView[]; incomplete: string }>;
  control(): Pick<Deliveries, 'start' | 'pause' | 'resume' | 'suspendedUrls' | 'liftSuspension'>;
  /** Sends event 20011 to a handler. @throws ServiceError `not-found`, and as `sendTest` */
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
  list(): Promise<{ replays: ReplayView[]; incomplete: string }>;
  /** @throws ServiceError `not-found`, `unavailable` when its node cannot be asked */
  find(id: string): Promise<ReplayView>;
  /** What came of each request so far, NDJSON. @throws as `find` */
  results(id: string): Promise<string>;
  /** Ends one that has not ended. @throws as `find` */
  cancel(id: string): Promise<void>;
}

/** A replay, as the API tells it. */
export interface ReplayView extends Omit<JobProgress, 'details'> {
  id: string;
  created: string;
  administrator: string;
  dry_run: boolean;
  details: string;
  results_left_out: number;
  node: string;
}

/** An event handler, as the API tells it. */
export interface HandlerView {
  uuid: string;
  name: string;
  enabled: boolean;
  state: 'running' | 'stopped' | 'paused' | 'disabled';
  /** Why it does not run; empty when it does. */
  reason: string;
  waiting_events: number;
  oldest_waiting_seconds: number;
  rate_per_minute: number;
  suspended_urls: { url: string; until: string }[];
  node: string;
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

/** What came of a reload at the node that was asked, and at each. */
export interface ReloadOfAll extends ReloadReport {
  /** The asked one first. */
  nodes: NodeReload[];
  incomplete: string;
}

/** What came of a reload at one node. */
export interface NodeReload {
  node: string;
  uuid: string;
  reloaded: boolean;
  /** Paths of the options that changed. */
  changes: string[];
  /** What ended of those who may be in no more. */
  ended: ReloadReport['ended'];
  /** Why it was refused, or is not known to be done. */
  reason: string | null;
}

/** All nodes at one moment, as `GET /api/overview` tells it. */
export interface Overview {
  server: { name: string; uuid: string; version: string; node: string; started: string };
  services: ServiceView[];
  methods: MethodView[];
  handlers: HandlerView[];
  /** Uploads and downloads under way, at most 100: those that began first. */
  transfers: TransferView[];
  /** How many more there are. */
  transfers_left_out: number;
  /** The newest events of the group `failure`, the newest first; of those before the start, what a short look back finds. */
  errors: { time: string; id: string; uuid: string; message: string; node: string }[];
  /** What the journal takes up, and the room on its disk; null where that does not tell. */
  journal: { bytes: number | null; free_bytes: number | null };
  nodes: NodeView[];
  /** Why the other nodes cannot be seen at present; empty when they can. */
  incomplete: string;
}

/** A server of the installation. */
export interface NodeView {
  node: string;
  uuid: string;
  phase: 'starting' | 'ready' | 'stopping' | 'gone';
  version: string;
  /** When it was last heard of, rounded down to ten seconds. */
  seen: string;
}

/** A service and where it listens. */
export interface ServiceView {
  uuid: string;
  type: string;
  name: string;
  url: string;
  node: string;
  connections: number;
  sessions: number;
}

/** A file, or an archive, on its way. */
export interface TransferView {
  id: string;
  node: string;
  /** UUID. */
  service: string;
  account: string;
  path: string;
  direction: 'download' | 'upload';
  /** So far. */
  bytes: number;
  /** Null where nobody said how many there will be. */
  total_bytes: number | null;
  /** Of the last seconds. */
  bytes_per_second: number;
  started: string;
}

/** An authentication method of one node. */
export interface MethodView {
  node: string;
  uuid: string;
  name: string;
  type: string;
  state: string;
  /** Why it does not run, or what of it fails at present; empty when all is well. */
  reason: string;
}
