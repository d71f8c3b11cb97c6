import { basename, dirname } from 'node:path';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { type LockGuard, lockPath } from '../locks/lock-guard.ts';
import type { FileLock, LockOwner } from '../locks/lock-store.ts';

/** The write locks of one path, as one client sees them. The permission was checked by `AccountFiles`. */
export class LockedPath {
  readonly #guard: LockGuard;
  readonly #path: string | undefined;
  readonly #takenBy: NonNullable<FileLock['takenBy']>;

  constructor(paths: AccountPaths, path: VirtualPath) {
    this.#guard = paths.locks;
    this.#takenBy = { account: paths.account.name, address: paths.context.account.peer.address };
    const location = paths.mounts.locate(path);
    this.#path = location.kind === 'real' ? lockPath(paths.mounts.roots, location.realPath) : undefined;
  }

  /** The locks that cover the path. */
  async covering(): Promise<FileLock[]> {
    return this.#path === undefined ? [] : this.#guard.store.covering(this.#path);
  }

  /** The locks that begin at members of this folder, by the member's name. */
  async onMembers(): Promise<Map<string, FileLock[]>> {
    const folder = this.#path;
    if (folder === undefined) return new Map();
    const locks = (await this.#guard.store.within(folder)).filter((lock) => dirname(lock.path) === folder && lock.path !== folder);
    return new Map(locks.map((lock) => [basename(lock.path), [lock]]));
  }

  /**
   * Takes an exclusive write lock.
   *
   * @throws ServiceError `locked` when another lock is in the way, `fixed-folder` for a purely virtual folder
   */
  async take(isDeep: boolean, owner: LockOwner | undefined, timeoutMs: number): Promise<FileLock> {
    if (this.#path === undefined) throw new ServiceError('fixed-folder', 'This folder only holds virtual folders.');
    const { accountUuid } = this.#guard;
    const result = await this.#guard.store.take({ path: this.#path, isDeep, accountUuid, takenBy: this.#takenBy, owner, timeoutMs });
    if ('taken' in result) return result.taken;
    throw new ServiceError('locked', 'The path is locked.');
  }

  /**
   * Starts the time of the client's own lock anew.
   *
   * @throws ServiceError `precondition-failed` when the client submitted no token of a lock that covers the path (RFC 4918 §9.10.2)
   */
  async refresh(timeoutMs: number): Promise<FileLock> {
    const own = (await this.covering()).find((lock) => this.#guard.holds(lock));
    const lock = own && (await this.#guard.store.refresh(own.token, timeoutMs));
    if (!lock) throw new ServiceError('precondition-failed', 'The request names no lock of this path.');
    return lock;
  }

  /**
   * Ends a lock.
   *
   * @throws ServiceError `exists` (409) when the token names no lock of this path (RFC 4918 §9.11.1), `never-allowed` when it is
   *   another account's
   */
  async release(token: string): Promise<void> {
    const lock = (await this.covering()).find((candidate) => candidate.token === token);
    if (!lock) throw new ServiceError('exists', 'The token names no lock of this path.');
    if (lock.accountUuid !== this.#guard.accountUuid) throw new ServiceError('never-allowed', 'The lock belongs to another account.');
    await this.#guard.store.release(token);
  }
}
