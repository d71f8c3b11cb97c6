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

/** The objects that all services and accounts of this process share for work on files. */
export interface FilesEnvironment {
  readonly events: EventDispatcher;
  readonly clock: Clock;
  readonly log: Log;
  readonly temporaries: Temporaries;
  readonly retention: Retention;
  readonly quotas: Quotas;
  /** Locked for a path while the path is checked and then changed. */
  readonly pathMutex: PathMutex;
  /** Write locks. Services with `webdav_compatibility` let clients take them; every service obeys them. */
  readonly locks: LockStore;
  readonly fileCache: FileCache;
  readonly uploads: UploadStore;
  /** The inspections, and the uploads that wait for a decision. */
  readonly held: Holding;
  readonly transfers: Transfers;
  readonly trashes: KnownTrashes;
  readonly missingFolders: MissingFolders;
  /** Real folders that no account may reach: the data folder. */
  readonly excludedPaths: readonly string[];
}
