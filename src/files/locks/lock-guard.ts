import { lstatSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { ServiceError } from '../../lib/errors.ts';
import { type RealRoots, resolveParent } from '../disk/real-roots.ts';
import type { FileLock, LockStore } from './lock-store.ts';

/** What an operation is about to do to a path, as far as locks care. */
export type Change = 'content' | 'membership' | 'tree';

/** Of a client that has no way to say that it holds a lock, or does not say so. */
export const noTokens: ReadonlySet<string> = new Set();

/** How a client shows that it holds a lock: the tokens it sent, and who it is (RFC 4918 §6.4, §6.5). */
export class LockGuard {
  readonly store: LockStore;
  readonly accountUuid: string;
  readonly #tokens: ReadonlySet<string>;

  /** @param tokens the lock tokens that the request submits */
  constructor(store: LockStore, accountUuid: string, tokens: ReadonlySet<string>) {
    this.store = store;
    this.accountUuid = accountUuid;
    this.#tokens = tokens;
  }

  /** Whether the client may do what the lock forbids to others. */
  holds(lock: FileLock): boolean {
    return lock.accountUuid === this.accountUuid && this.#tokens.has(lock.token);
  }

  /** The same client, which has just taken one more lock. */
  withToken(token: string): LockGuard {
    return new LockGuard(this.store, this.accountUuid, new Set([...this.#tokens, token]));
  }

  /** Ends the locks on what is gone. */
  async forget(roots: RealRoots, realPath: string): Promise<void> {
    if (await this.store.isEmpty()) return;
    for (const lock of await this.store.within(lockPath(roots, realPath))) await this.store.release(lock.token);
  }

  /**
   * Refuses a change of a locked path (RFC 4918 §7).
   *
   * @param change `content`: a file gets new content, or is created. `membership`: a member of the folder comes, goes or is
   *   replaced, which a lock on the folder alone forbids too (§7.4). `tree`: that, with all that lies below
   * @throws ServiceError `locked`
   */
  async requireUnlocked(roots: RealRoots, realPath: string, change: Change): Promise<void> {
    // Most services have no lock at all: then no link on the way is looked at.
    if (await this.store.isEmpty()) return;
    const path = lockPath(roots, realPath);
    const locks = await this.store.covering(path);
    if (change !== 'content' || !lstatSync(path, { throwIfNoEntry: false })) locks.push(...(await this.store.covering(dirname(path))));
    if (change === 'tree') locks.push(...(await this.store.within(path)));
    if (locks.some((lock) => !this.holds(lock))) throw new ServiceError('locked', 'The path is locked.');
  }
}

/**
 * The path that locks go by: the folder's links resolved, so that two ways to a file meet, and the last name as it is.
 * A link to a file inside the roots is its target.
 */
export function lockPath(roots: RealRoots, realPath: string): string {
  try {
    const resolved = realpathSync.native(realPath);
    if (roots.contains(resolved)) return resolved;
  } catch {
    // Nothing there yet: the folder that it would be created in decides.
  }
  return resolveParent(realPath);
}
