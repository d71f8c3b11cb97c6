import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, normalize } from 'node:path';
import { ServiceError } from '../../lib/errors.ts';
import { type RealRoots, resolveParent } from '../disk/real-roots.ts';
import type { FileLock, LockOwner, LockStore } from './lock-store.ts';

/** One client's access to the write locks of one path. `AccountFiles` has checked the permission. */
export class LockedPath {
  readonly #guard: LockGuard;
  readonly #path: string | undefined;
  readonly #takenBy: NonNullable<FileLock['takenBy']>;
  readonly #isNarrowed: boolean;

  /**
   * @param path from `lockPath`; undefined for a purely virtual folder
   * @param isNarrowed whether the client can reach this path, but no folder above it. If so, the client may use only locks on the path
   *   itself
   */
  constructor(guard: LockGuard, path: string | undefined, takenBy: NonNullable<FileLock['takenBy']>, isNarrowed = false) {
    this.#guard = guard;
    this.#path = path;
    this.#takenBy = takenBy;
    this.#isNarrowed = isNarrowed;
  }

  /** The locks that cover the path. */
  async covering(): Promise<FileLock[]> {
    return this.#path === undefined ? [] : this.#guard.store.covering(this.#path);
  }

  /** The locks on members of this folder, by the member's name. */
  async onMembers(): Promise<Map<string, FileLock[]>> {
    const folder = this.#path;
    if (folder === undefined) return new Map();
    const locks = (await this.#guard.store.within(folder)).filter((lock) => dirname(lock.path) === folder && lock.path !== folder);
    return new Map(locks.map((lock) => [basename(lock.path), [lock]]));
  }

  /** Takes an exclusive write lock. @throws ServiceError `locked` for a conflicting lock, `fixed-folder` for a purely virtual folder */
  async take(isDeep: boolean, owner: LockOwner | undefined, timeoutMs: number): Promise<FileLock> {
    if (this.#path === undefined) throw new ServiceError('fixed-folder', 'This folder only holds virtual folders.');
    const { accountUuid } = this.#guard;
    const result = await this.#guard.store.take({ path: this.#path, isDeep, accountUuid, takenBy: this.#takenBy, owner, timeoutMs });
    if ('taken' in result) return result.taken;
    throw new ServiceError('locked', 'The path is locked.');
  }

  /**
   * Renews the client's lock.
   *
   * @throws ServiceError `precondition-failed` if no token of the request belongs to a lock on the path (RFC 4918 §9.10.2)
   */
  async refresh(timeoutMs: number): Promise<FileLock> {
    const own = (await this.#changeable()).find((lock) => this.#guard.holds(lock));
    const lock = own && (await this.#guard.store.refresh(own.token, timeoutMs));
    if (!lock) throw new ServiceError('precondition-failed', 'The request names no lock of this path.');
    return lock;
  }

  /**
   * Releases a lock.
   *
   * @throws ServiceError `exists` (409) if the token names no lock of this path (RFC 4918 §9.11.1), `never-allowed` for a lock of another
   *   account
   */
  async release(token: string): Promise<void> {
    const lock = (await this.#changeable()).find((candidate) => candidate.token === token);
    if (!lock) throw new ServiceError('exists', 'The token names no lock of this path.');
    if (lock.accountUuid !== this.#guard.accountUuid) throw new ServiceError('never-allowed', 'The lock belongs to another account.');
    await this.#guard.store.release(token);
  }

  async #changeable(): Promise<FileLock[]> {
    const locks = await this.covering();
    return this.#isNarrowed ? locks.filter((lock) => lock.path === this.#path) : locks;
  }
}

/**
 * The kind of a change.
 * - `content`: a file gets new content, or is created.
 * - `membership`: a member of a folder is added, removed or replaced. A lock on the folder forbids this, even with depth 0 (RFC 4918 §7.4).
 * - `tree`: as `membership`, but the member may be a folder that has members. A lock on anything below this member forbids the change, too.
 */
export type Change = 'content' | 'membership' | 'tree';

const noTokens: ReadonlySet<string> = new Set();

/** A client's proof that it holds locks: its account and the tokens it sent (RFC 4918 §6.4, §6.5). */
export class LockGuard {
  readonly store: LockStore;
  readonly accountUuid: string;
  readonly #tokens: ReadonlySet<string>;

  /** @param tokens the lock tokens of the request */
  constructor(store: LockStore, accountUuid: string, tokens = noTokens) {
    this.store = store;
    this.accountUuid = accountUuid;
    this.#tokens = tokens;
  }

  /** Whether the client has the lock. */
  holds(lock: FileLock): boolean {
    return lock.accountUuid === this.accountUuid && this.#tokens.has(lock.token);
  }

  /** Returns the guard of the same client with one more token, after the client has taken another lock. */
  withToken(token: string): LockGuard {
    return new LockGuard(this.store, this.accountUuid, new Set([...this.#tokens, token]));
  }

  /** Releases the locks on a removed path and on everything below it. */
  async forget(roots: RealRoots, realPath: string): Promise<void> {
    if (await this.store.isEmpty()) return;
    for (const lock of await this.store.within(lockPath(roots, realPath))) await this.store.release(lock.token);
  }

  /** Refuses a change of a locked path (RFC 4918 §7). @throws ServiceError `locked` */
  requireUnlocked(roots: RealRoots, realPath: string, change: Change): Promise<void> | undefined {
    // Most services have no locks. For them, the disk is not accessed.
    const isEmpty = this.store.isEmpty();
    return isEmpty === true ? undefined : this.#requireUnlocked(isEmpty, roots, realPath, change);
  }

  async #requireUnlocked(isEmpty: boolean | Promise<boolean>, roots: RealRoots, realPath: string, change: Change): Promise<void> {
    if (await isEmpty) return;
    const path = lockPath(roots, realPath);
    const locks = await this.store.covering(path);
    if (change !== 'content' || !lstatSync(path, { throwIfNoEntry: false })) locks.push(...(await this.store.covering(dirname(path))));
    if (change === 'tree') locks.push(...(await this.store.within(path)));
    if (locks.some((lock) => !this.holds(lock))) throw new ServiceError('locked', 'The path is locked.');
  }
}

/**
 * The path that identifies a file for locks. If the file is a symbolic link to a path inside the roots, the link is resolved, so that all
 * paths of a file share the locks on it. Otherwise, only the symbolic links in the path of its folder are resolved.
 */
export function lockPath(roots: RealRoots, realPath: string): string {
  const path = normalize(resolveParent(realPath));
  try {
    // lstat(2) is called first, because a failed realpath(3) for a new file would cost twice as much.
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return path;
    const resolved = realpathSync.native(path);
    if (roots.contains(resolved)) return resolved;
  } catch {
    // A symbolic link that cannot be resolved is identified by its own path.
  }
  return path;
}
