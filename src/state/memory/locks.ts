import { randomUUID } from 'node:crypto';
import { type FileLock, type LockRequest, type LockStore, maxLocksPerAccount } from '../../files/locks/lock-store.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { isWithin } from '../../lib/virtual-path.ts';

/** The locks of one process. They are lost when the process ends, which RFC 4918 §6.6 allows. */
export class MemoryLocks implements LockStore {
  readonly #clock: Clock;
  readonly #areTaken: () => boolean;
  readonly #locks = new Map<string, FileLock>();

  /** @param areTaken whether a service of the current configuration allows locks */
  constructor(clock: Clock, areTaken: () => boolean) {
    this.#clock = clock;
    this.#areTaken = areTaken;
  }

  async take(request: LockRequest): Promise<{ taken: FileLock } | { conflict: FileLock }> {
    const active = this.#active();
    const conflict = active.find((lock) => covers(lock, request.path) || (request.isDeep && isWithin(lock.path, request.path)));
    if (conflict) return { conflict };
    if (active.filter((lock) => lock.accountUuid === request.accountUuid).length >= maxLocksPerAccount)
      throw new ServiceError('too-many-requests', `An account may hold at most ${maxLocksPerAccount} locks.`);
    const { timeoutMs, ...rest } = request;
    const taken = { ...rest, token: `opaquelocktoken:${randomUUID()}`, expiresMs: this.#clock.nowMs() + timeoutMs };
    this.#locks.set(taken.token, taken);
    return { taken };
  }

  async refresh(token: string, timeoutMs: number): Promise<FileLock | undefined> {
    const lock = this.#active().find((candidate) => candidate.token === token);
    if (!lock) return undefined;
    const refreshed = { ...lock, expiresMs: this.#clock.nowMs() + timeoutMs };
    this.#locks.set(token, refreshed);
    return refreshed;
  }

  async release(token: string): Promise<boolean> {
    this.#active();
    return this.#locks.delete(token);
  }

  isEmpty(): boolean {
    return this.#active().length === 0 || !this.#areTaken();
  }

  async covering(path: string): Promise<FileLock[]> {
    return this.#active().filter((lock) => covers(lock, path));
  }

  async within(path: string): Promise<FileLock[]> {
    return this.#active().filter((lock) => isWithin(lock.path, path));
  }

  #active(): FileLock[] {
    if (this.#locks.size === 0) return [];
    const nowMs = this.#clock.nowMs();
    for (const lock of this.#locks.values()) if (lock.expiresMs <= nowMs) this.#locks.delete(lock.token);
    return [...this.#locks.values()];
  }
}

function covers(lock: FileLock, path: string): boolean {
  return lock.path === path || (lock.isDeep && isWithin(path, lock.path));
}
