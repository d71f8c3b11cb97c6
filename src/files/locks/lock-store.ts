/** An exclusive write lock (RFC 4918 §6) on a real path, so that it holds for every account that sees the file. */
export interface FileLock {
  /** URI that names the lock, never used twice. */
  readonly token: string;
  /** Real path of the lock's root, the parent's links resolved. */
  readonly path: string;
  /** Whether the lock covers all that lies below (`Depth: infinity`). */
  readonly isDeep: boolean;
  /** UUID of the account that took it: the only one that may use or end it. */
  readonly accountUuid: string;
  /** Name of that account, and where the request came from; absent in locks of older versions. */
  readonly takenBy?: { readonly account: string; readonly address: string };
  /** What the client said about its owner, for other clients to show. */
  readonly owner: LockOwner | undefined;
  /** Wall clock, Unix time in milliseconds. */
  readonly expiresMs: number;
}

/** `owner` of a lock request: text, or a link. */
export interface LockOwner {
  readonly text: string;
  readonly isLink: boolean;
}

/** What a new lock is made of; the store adds the token. */
export interface LockRequest extends Pick<FileLock, 'path' | 'isDeep' | 'accountUuid' | 'takenBy' | 'owner'> {
  readonly timeoutMs: number;
}

/** Where locks are kept. A lock expires when its time is over. Every implementation passes `test/contracts/lock-store.ts`. */
export interface LockStore {
  /**
   * Takes a lock, unless another one covers the path, or lies below it when the new one is deep. Of several who try at once
   * exactly one succeeds.
   *
   * @returns the lock, or the lock that is in the way
   * @throws ServiceError `too-many-requests` when an account holds `maxLocksPerAccount` locks
   */
  take(request: LockRequest): Promise<{ taken: FileLock } | { conflict: FileLock }>;
  /** Starts a lock's time anew. @returns undefined when there is no such lock any more */
  refresh(token: string, timeoutMs: number): Promise<FileLock | undefined>;
  /** Ends a lock. @returns whether there was one */
  release(token: string): Promise<boolean>;
  /** Whether no lock binds anybody, as none is there or no service takes locks any more: then paths need no check. */
  isEmpty(): Promise<boolean>;
  /** The locks that cover a path: on the path itself, and deep ones above it. */
  covering(path: string): Promise<FileLock[]>;
  /** The locks on a path and on all below it. */
  within(path: string): Promise<FileLock[]>;
}

/** Locks that one account may hold at once; more is a client gone wild. */
export const maxLocksPerAccount = 1000;
