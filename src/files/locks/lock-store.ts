/** An exclusive write lock (RFC 4918 §6) on a real path, so that it applies to every account. */
export interface FileLock {
  /** URI of the lock, never used twice. */
  readonly token: string;
  /** Real path of the lock's root, the parent's links resolved. */
  readonly path: string;
  /** Whether the lock covers everything below (`Depth: infinity`). */
  readonly isDeep: boolean;
  /** UUID of the account that took it, the only one that may use or release it. */
  readonly accountUuid: string;
  /** Name of that account, and address of the request; absent in locks of older versions. */
  readonly takenBy?: { readonly account: string; readonly address: string };
  /** Information of the client about its owner, for other clients to show. */
  readonly owner: LockOwner | undefined;
  /** Wall clock, Unix time in milliseconds. */
  readonly expiresMs: number;
}

/** `owner` of a lock request: text, or a link. */
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
   * Takes a lock, unless another one covers the path, or is below it when the new one is deep. Of several simultaneous requests exactly
   * one succeeds.
   *
   * @returns the lock, or the conflicting lock
   * @throws ServiceError `too-many-requests` when an account holds `maxLocksPerAccount` locks
   */
  take(request: LockRequest): Promise<{ taken: FileLock } | { conflict: FileLock }>;
  /** Renews a lock. @returns undefined when it does not exist any more */
  refresh(token: string, timeoutMs: number): Promise<FileLock | undefined>;
  /** @returns whether the lock existed */
  release(token: string): Promise<boolean>;
  /** Whether no lock applies, because none exists or no service supports locks any more: then paths need no check. */
  isEmpty(): boolean | Promise<boolean>;
  /** The locks that cover a path: on the path itself, and deep ones above it. */
  covering(path: string): Promise<FileLock[]>;
  /** The locks on a path and on all below it. */
  within(path: string): Promise<FileLock[]>;
}

/** Locks that one account may hold at once; only a faulty client needs more. */
export const maxLocksPerAccount = 1000;
