import type { AddressBans, SecurityPolicy } from '../auth/ban-list.ts';
import type { AcceptedCredentials } from '../auth/callout-cache.ts';
import type { Identity } from '../auth/credentials.ts';
import type { GrantStore } from '../auth/grants/grant-store.ts';
import type { SessionLifetimes, SessionStore } from '../auth/sessions.ts';
import type { CertificateStore } from '../certificates/certificate-store.ts';
import type { EventLog } from '../events/journal/event-log.ts';
import type { FileEventLog } from '../events/journal/file-event-log.ts';
import type { LogPosition } from '../events/journal/position.ts';
import type { ExpectationStore } from '../expectations/watch.ts';
import type { LockStore } from '../files/locks/lock-store.ts';
import type { SharedUploadStore } from '../files/uploads/upload-store.ts';
import type { Clock } from '../lib/clock.ts';
import { Slots } from '../lib/concurrency/slots.ts';
import { MemoryUrlHealth, type UrlSuspensions } from '../lib/remote/url-health.ts';
import type { SharedFigures } from '../monitor/sources.ts';
import { MemoryBans } from '../state/memory/bans.ts';
import { MemoryAcceptedCredentials } from '../state/memory/callout-cache.ts';
import { MemoryCertificates } from '../state/memory/certificates.ts';
import type { FileGrants } from '../state/memory/grants.ts';
import { MemoryLocks } from '../state/memory/locks.ts';
import { MemorySessions } from '../state/memory/sessions.ts';
import type { DeliveryStore } from '../webhooks/engine/delivery-store.ts';
import type { DeliveryRecord, DeliveryRecords } from '../webhooks/records/delivery-record.ts';
import type { NodeLink } from './nodes/installation.ts';

/** The journal and the deliveries that several nodes share. */
export interface SharedJournal {
  journal: EventLog;
  figures?: () => Promise<SharedFigures>;
  records: DeliveryRecords;
  /** Opens the log for the records of deliveries that an operator starts. */
  openReplayLog(): { append(record: DeliveryRecord): void; close(): Promise<void> };
  deliveryStore: DeliveryStore;
  expectationStore: ExpectationStore;
}

/** The state that requests share. It is in the memory of this process, or in Redis for several nodes. */
export interface State {
  readonly bans: AddressBans;
  readonly locks: LockStore;
  readonly certificates: CertificateStore;
  /** Connection slots. They count only the connections of this process. */
  readonly places: Slots;
  /** Unfinished uploads of several nodes; undefined if they are stored in the data folder. */
  readonly uploads?: SharedUploadStore;
  /** Held uploads of several nodes; undefined if they are stored in the data folder. */
  readonly held?: SharedUploadStore;
  /** Tokens and links of several nodes; undefined if the data folder has all of them. @param local this node's own copy */
  readonly grants?: (local: FileGrants) => GrantStore;
  /** @param onTimeout called for each session that timed out */
  sessions(service: string, lifetimes: () => SessionLifetimes, onTimeout: (identity: Identity) => void): SessionStore;
  /** @param scope the method or handler to which the URLs belong */
  urlHealth(scope: string): UrlSuspensions;
  accepted(method: string, lifetimeMs: number): AcceptedCredentials;
  /**
   * Opens the shared journal and deliveries; undefined if each process has its own.
   *
   * @param makeLocal creates the journal of this node
   */
  openShared?: (
    makeLocal: (neededFrom: () => LogPosition | undefined) => FileEventLog,
    own: { node: string; dataFolderPath: string; retentionDays: number },
  ) => Promise<SharedJournal>;
  /** The connection to the other nodes; undefined for a single process. */
  readonly nodes?: NodeLink;
  /** Returns true if the store is reachable, otherwise the reason why it is not. */
  check(): true | string;
  close(): Promise<void>;
}

/** The state of a single process. */
export function memoryState(clock: Clock, policy: () => SecurityPolicy, areLocksTaken: () => boolean): State {
  return {
    bans: new MemoryBans(clock, policy),
    locks: new MemoryLocks(clock, areLocksTaken),
    certificates: new MemoryCertificates(clock),
    places: new Slots(),
    sessions: (_, lifetimes, onTimeout) => new MemorySessions(clock, lifetimes, ({ identity }) => onTimeout(identity)),
    urlHealth: () => new MemoryUrlHealth(clock),
    accepted: (_, lifetimeMs) => new MemoryAcceptedCredentials(clock, lifetimeMs),
    check: () => true,
    close: async () => {},
  };
}
