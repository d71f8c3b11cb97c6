import type { Account } from '../accounts/account.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventDraft } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import type { LockStore } from './lock-store.ts';
import type { Mounts } from './mounts.ts';
import type { QuotaKeeper } from './quota.ts';
import type { Temporaries } from './temporaries.ts';

/** Turns at changing what a real path means, among several processes. */
export interface PathTurns {
  /** Runs an action while no other process has the turn at one of the real paths. */
  inTurn<T>(paths: readonly string[], action: () => T | Promise<T>): Promise<T>;
}

/** What all accounts' files share in one service. */
export interface FilesEnvironment {
  readonly events: EventDispatcher;
  readonly clock: Clock;
  readonly temporaries: Temporaries;
  readonly quotas: QuotaKeeper;
  /** Lets nobody else decide about a path and change it meanwhile; undefined where this process is the only one. */
  readonly turns?: PathTurns | undefined;
  /** Write locks; taken and heeded only by services with `webdav_compatibility`. */
  readonly locks: LockStore;
  /** Real folders that no account may reach, whatever its home folder: the data folder. */
  readonly excludedPaths: readonly string[];
}

/** What one transfer needs of the account's files that it belongs to. */
export interface FileScope {
  readonly account: Account;
  readonly mounts: Mounts;
  readonly environment: FilesEnvironment;
  /** Emits an event about a path, with the path members that file events carry (decisions.md 2). */
  emit(id: number, path: VirtualPath, data?: Record<string, unknown>): void;
  /** The draft of such an event. */
  draft(id: number, path: VirtualPath, data?: Record<string, unknown>): EventDraft;
}
