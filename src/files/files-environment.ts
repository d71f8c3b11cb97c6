import type { EventDispatcher } from '../events/dispatcher.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { FileCache } from './disk/file-cache.ts';
import type { PathMutex } from './disk/path-mutex.ts';
import type { Retention } from './disk/retention.ts';
import type { Temporaries } from './disk/temporaries.ts';
import type { Holding } from './inspections/holding.ts';
import type { LockStore } from './locks/lock-store.ts';
import type { MissingFolders } from './mounts.ts';
import type { Quotas } from './quota.ts';
import type { Transfers } from './transfers.ts';
import type { KnownTrashes } from './trash/known-trashes.ts';
import type { UploadStore } from './uploads/upload-store.ts';

/** Shared by all accounts' files of a service. */
export interface FilesEnvironment {
  readonly events: EventDispatcher;
  readonly clock: Clock;
  readonly log: Log;
  readonly temporaries: Temporaries;
  readonly retention: Retention;
  readonly quotas: Quotas;
  /** Held while a path is checked and then changed. */
  readonly pathMutex: PathMutex;
  /** Write locks, which services with `webdav_compatibility` take and every service obeys. */
  readonly locks: LockStore;
  readonly fileCache: FileCache;
  readonly uploads: UploadStore;
  /** Uploads that wait for a decision, and the inspections. */
  readonly held: Holding;
  readonly transfers: Transfers;
  readonly trashes: KnownTrashes;
  readonly missingFolders: MissingFolders;
  /** Real folders that no account may reach: the data folder. */
  readonly excludedPaths: readonly string[];
}
