import type { Account } from '../accounts/account.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventContext, EventDraft } from '../events/event.ts';
import type { SharedMembers } from '../events/shared-members.ts';
import type { Clock } from '../lib/clock.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import type { FileCache } from './disk/file-cache.ts';
import type { MissingFolders } from './disk/missing-folders.ts';
import type { Temporaries } from './disk/temporaries.ts';
import type { PathTurns } from './disk/turns.ts';
import type { LockStore } from './locks/lock-store.ts';
import type { Mounts } from './mounts.ts';
import type { Quotas } from './quota.ts';
import type { Transfers } from './transfers.ts';
import type { UploadStore } from './uploads/upload-store.ts';

/** What all accounts' files share in one service. */
export interface FilesEnvironment {
  readonly events: EventDispatcher;
  readonly clock: Clock;
  readonly temporaries: Temporaries;
  readonly quotas: Quotas;
  /** Lets nobody else decide about a path and change it meanwhile. */
  readonly turns: PathTurns;
  /** Write locks; taken and heeded only by services with `webdav_compatibility`. */
  readonly locks: LockStore;
  /** Content of small files. */
  readonly fileCache: FileCache;
  /** Uploads that may take several requests. */
  readonly uploads: UploadStore;
  /** What is under way. */
  readonly transfers: Transfers;
  /** Told of virtual folders whose real folder is missing. */
  readonly missingFolders: MissingFolders;
  /** Real folders that no account may reach, whatever its home folder: the data folder. */
  readonly excludedPaths: readonly string[];
}

/** What one transfer needs of the account's files that it belongs to. */
export interface FileScope {
  readonly account: Account;
  readonly mounts: Mounts;
  readonly environment: FilesEnvironment;
  /** Who and which component. */
  readonly context: EventContext;
  /** Emits an event about a path, with the path members that file events carry (docs/spec/events.md#file-events). */
  emit(id: number, path: VirtualPath, data?: Record<string, unknown>): void;
  /** Like `emit`; the event is on disk when the promise resolves. For changes. */
  emitDurable(id: number, path: VirtualPath, data?: Record<string, unknown>): Promise<void>;
  /** The ID of an event as this component tells it, undefined when it does not. */
  eventId(id: number): number | undefined;
  /** The draft of such an event, which is told. */
  draft(id: number, path: VirtualPath, data?: Record<string, unknown>): EventDraft;
  /** The path members that file events carry, to be used for several events. */
  pathMembers(path: VirtualPath): SharedMembers;
  /** Emits an event of a read with such members, together with others of this turn (`EventDispatcher.emitGrouped`). */
  emitGrouped(id: number, shared: SharedMembers, data?: Readonly<Record<string, unknown>>): void;
}
