/** An exclusive write lock (RFC 4918 §6). It locks a real path, so it applies to every account. */
export interface FileLock {
  /** Unique URI of the lock. */
  readonly token: string;
  /** Real path of the lock's root: symbolic links in the path of its folder are resolved (`lockPath`). */
  readonly path: string;
  /** Whether the lock also covers everything below the path (`Depth: infinity`). */
  readonly isDeep: boolean;
  /** UUID of the account that took the lock. Only this account may use or release it. */
  readonly accountUuid: string;
  /** Name of that account, and address of the request; missing in locks that an older version of svc took. */
  readonly takenBy?: { readonly account: string; readonly address: string };
  /** The client's information about the owner, which other clients can show. */
  readonly owner: LockOwner | undefined;
  /** Expiry by the wall clock, Unix time in milliseconds. */
  readonly expiresMs: number;
}

/** `owner` of a lock request: text, or a URL (`href`). */
export interface LockOwner {
  readonly text: string;
  readonly isLink: boolean;
}

/** A new lock; the store adds the token. */
export interface LockRequest extends Pick<FileLock, 'path' | 'isDeep' | 'accountUuid' | 'takenBy' | 'owner'> {
  readonly timeoutMs: number;
}

/** Keeps locks until they expire or are released. Every implementation passes `test/contracts/lock-store.ts`. */
export interface LockStore {
  /**
   * Takes a lock if no other lock conflicts with it. Each lock that covers the path conflicts. If the new lock is deep, each lock below
   * the path conflicts, too. If several conflicting requests arrive at the same time, exactly one succeeds.
   *
   * @returns the lock, or the conflicting lock
   * @throws ServiceError `too-many-requests` when an account holds `maxLocksPerAccount` locks
   */
  take(request: LockRequest): Promise<{ taken: FileLock } | { conflict: FileLock }>;
  /** Renews a lock. @returns undefined if it no longer exists */
  refresh(token: string, timeoutMs: number): Promise<FileLock | undefined>;
  /** @returns whether the lock existed */
  release(token: string): Promise<boolean>;
  /** Returns true if there is no lock, or if no service supports locks any more. In both cases, no path needs a check. */
  isEmpty(): boolean | Promise<boolean>;
  /** The locks that cover a path: locks on the path itself, and deep locks above it. */
  covering(path: string): Promise<FileLock[]>;
  /** The locks on a path and on everything below it. */
  within(path: string): Promise<FileLock[]>;
}

/** Maximum number of locks that one account may hold. Only a faulty client needs more. */
export const maxLocksPerAccount = 1000;
