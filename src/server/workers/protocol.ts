import type { AuthResult, MethodState } from '../../auth/auth-method.ts';
import type { Admission, AttemptOutcome, ListedBan, LoginAttempt } from '../../auth/ban-list.ts';
import type { ListedSession } from '../../auth/sessions.ts';
import type { Config } from '../../config/schema/schema.ts';
import type { BackendDelivery } from '../../events/dispatcher.ts';
import type { EventServer } from '../../events/event.ts';
import type { RecentChange } from '../../events/recent-changes.ts';
import type { FileLock, LockRequest } from '../../files/locks/lock-store.ts';
import type { Count, CountBegun, QuotaAnswer, QuotaClaim } from '../../files/quota-ledger.ts';
import type { ShownTransfers } from '../../files/transfers.ts';
import type { UploadOrder, UploadProgress, UploadRecord } from '../../files/uploads/upload-store.ts';
import type { TlsContext } from '../../http/connection/tls-context.ts';
import type { Channel, Fault } from '../../lib/channel.ts';
import type { LogFormat, LogLevel } from '../../lib/log.ts';
import type { PlaceLimit } from '../../lib/turns/places.ts';
import type { MetricFigures } from '../../monitor/metric-figures.ts';
import type { ServiceTraffic } from '../../monitor/sources.ts';
import type { HostKey } from '../../ssh/host-keys.ts';
import type { TallyFigures } from '../tally.ts';

/*
 * What primary process and workers say to each other. Keys of sessions are hashes, remembered credentials stand under an HMAC: no
 * message holds a password that a client sent, or a session ID.
 */

/** A session as the primary process keeps it. */
export interface SessionRecord {
  /** Made with `accountText`. */
  account: string;
  /** Unix time in milliseconds. */
  createdMs: number;
}

/** What a worker did with a session since it last told: key, the last use (monotonic, ms), transfers that run. */
export type SessionUse = [key: string, lastUsedMs: number, holds: number];

/** What is known of a source: for how long it is still banned in ms, 0 for mere failures, -1 when they are forgotten. */
export type BanNote = [source: string, bannedForMs: number];

/** Events that a worker serialised. */
export interface EventBatch {
  /** Whole lines of NDJSON. */
  bytes: Buffer;
  lines: number;
  /** Group of the accounts of the events from a line on; null for none. Lines are counted from 0. */
  groups: [line: number, group: string | null][];
  /** Lines of changes, whose requests wait until they are on disk. */
  changes: number[];
}

/** State of each authentication method that the primary process tests. */
export type MethodStates = Record<string, MethodState>;

/** What a new worker is told. */
export interface WorkerSetup {
  worker: number;
  /** How many share the connections. */
  workers: number;
  config: Config;
  server: EventServer;
  /** With its links resolved. */
  dataFolderPath: string;
  log: { level: LogLevel; format: LogFormat; colour: boolean };
  methods: MethodStates;
  bans: BanNote[];
  journal: Fault | undefined;
  /** Key of the hashes under which credentials are remembered. */
  acceptedKey: Buffer;
  /** Of `TicketKeys`. */
  ticketSecret: Buffer;
  /** TLS files as read at the start, for a worker that may not read them any more. */
  tls: Record<string, TlsContext>;
  /** Host keys of SSH services, by their paths, likewise. */
  hostKeys: Map<string, HostKey>;
}

/** Figures of a worker. */
export interface WorkerFigures {
  metrics: MetricFigures;
  services: (ServiceTraffic & { service: string })[];
  tally: TallyFigures;
  transfers: ShownTransfers;
  /** What of an authentication method fails, by its UUID. */
  methodFaults: Record<string, string>;
  /** Resident memory. */
  memoryBytes: number;
}

/** What the primary process does for a worker. */
export interface PrimaryApi {
  createSession(service: string, key: string, account: string, address: string, most?: number): Promise<number | undefined>;
  findSession(service: string, key: string): Promise<SessionRecord | undefined>;
  useSessions(service: string, uses: SessionUse[]): void;
  endSession(service: string, key: string): Promise<void>;
  endSessions(service: string, accountUuid: string, exceptKey: string | undefined): Promise<number>;
  countSessions(service: string): number;
  beginAttempt(attempt: LoginAttempt, leaseMs: number, isInLine: boolean): Promise<Admission>;
  endAttempt(attempt: LoginAttempt, outcome: AttemptOutcome): Promise<void>;
  listSessions(service: string): Promise<ListedSession[]>;
  endSessionKeys(service: string, keys: readonly string[]): Promise<void>;
  listBans(): Promise<ListedBan[]>;
  liftBans(sources: readonly string[]): Promise<void>;
  takeLock(request: LockRequest): Promise<{ taken: FileLock } | { conflict: FileLock }>;
  refreshLock(token: string, timeoutMs: number): Promise<FileLock | undefined>;
  releaseLock(token: string): Promise<boolean>;
  locksCovering(path: string): Promise<FileLock[]>;
  locksWithin(path: string): Promise<FileLock[]>;
  availableUrls(scope: string, urls: readonly string[]): Promise<string[]>;
  suspendUrl(scope: string, url: string): Promise<void>;
  findAccepted(method: string, lifetimeMs: number, key: string): Promise<AuthResult | undefined>;
  keepAccepted(method: string, lifetimeMs: number, key: string, result: AuthResult): Promise<void>;
  /** @returns the changes that could not be recorded, by line; once the others are on disk */
  appendEvents(batch: EventBatch): Promise<[line: number, fault: Fault][]>;
  /** Returns once what was given to `appendEvents` before is written, on disk or not. */
  eventsWritten(): void;
  /** @param event as it stands in the journal, without a newline */
  emitAndWait(event: Buffer, group: string | undefined, handlerUuid: string): Promise<BackendDelivery>;
  /** @see recentChanges */
  recentChanges(accountUuid: string): Promise<RecentChange[]>;
  /** An accounts file was written; resolves when all workers go by it. */
  accountsChanged(): Promise<void>;
  /** Waits for the right to change what a real path means; one has it at a time. */
  takeTurn(path: string): Promise<void>;
  endTurn(path: string): void;
  /** @see SharedPlaces */
  takePlaces(limits: readonly PlaceLimit[]): Promise<string | undefined>;
  freePlaces(names: readonly string[]): void;
  /** These act on the ledger of quotas for this worker's uploads. @see QuotaLedger */
  claimQuota(folders: string, id: number, claim: QuotaClaim, count: Count | undefined): Promise<QuotaAnswer>;
  releaseQuota(folders: string, id: number, isDone: boolean): void;
  beginMoveInQuota(folders: string, id: number): void;
  removedInQuota(folders: string): void;
  usedQuota(folders: string, count: Count | undefined): Promise<number | { count: CountBegun }>;
  /** These act on the store of unfinished uploads. @see UploadStore */
  addUpload(order: UploadOrder, lengthBytes: number | undefined): Promise<UploadRecord>;
  findUpload(id: string): Promise<UploadRecord | undefined>;
  changeUpload(id: string, change: Partial<UploadProgress>): Promise<UploadRecord>;
  removeUpload(id: string): Promise<void>;
  /** @param hold the worker's own number of the hold, for `releaseUpload` and `wantUpload` */
  holdUpload(id: string, hold: number): Promise<void>;
  releaseUpload(hold: number): void;
  uploadsWithin(realPath: string): Promise<UploadRecord[]>;
  /** @param number the worker's own of the upload, for `leaveUpload` and `uploadGone` */
  enterUpload(accountUuid: string, folder: string, number: number): Promise<void>;
  leaveUpload(number: number): void;
  dismissUploads(realPath: string): Promise<void>;
}

/** What a worker does for the primary process. */
export interface WorkerApi {
  start(setup: WorkerSetup): Promise<void>;
  /** Makes the parts of a configuration and opens new addresses; nothing changes yet. */
  prepare(config: Config): Promise<void>;
  commit(methods: MethodStates): Promise<void>;
  abort(): Promise<void>;
  leave(): void;
  /** @returns whether all requests ended in time */
  stop(timeoutMs: number): Promise<boolean>;
  figures(): Promise<WorkerFigures>;
  adoptMethods(states: MethodStates): void;
  endSessionsHere(service: string, keys: string[]): void;
  reportSessions(service: string, keys: string[]): SessionUse[];
  noteBans(notes: BanNote[]): void;
  journalState(fault: Fault | undefined): void;
  renewTickets(secret: Buffer): void;
  lookAtAccounts(): void;
  /** Another request wants the upload that this worker has. */
  wantUpload(hold: number): void;
  /** The folder of an upload that this worker has is removed. */
  uploadGone(number: number): void;
}

/** The way to the primary process, as a worker has it. */
export type ToPrimary = Channel<WorkerApi, PrimaryApi>;
