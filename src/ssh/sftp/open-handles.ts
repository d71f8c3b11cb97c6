import { type ReadWriteLock, withExclusiveLocks } from '../../lib/concurrency/read-write-lock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { SshClient } from '../ssh-client.ts';
import type { OpenHandle } from './open-handle.ts';
import type { Handle } from './packets/packets.ts';
import { concerns, type RequestPaths } from './request-order.ts';

/** What one session has open, by the numbers that its client knows it by. */
export class OpenHandles {
  readonly #client: SshClient;
  readonly #kept = new Map<Handle, { opened: OpenHandle; free: () => void }>();
  #last: Handle = 0;

  constructor(client: SshClient) {
    this.#client = client;
  }

  get count(): number {
    return this.#kept.size;
  }

  /** Opens something, as long as there is a place for it. @throws ServiceError `too-many-requests` */
  async open(open: () => OpenHandle | Promise<OpenHandle>): Promise<Handle> {
    const { options, handles, account } = this.#client;
    if (this.#kept.size >= options.maximum_handles) throw new ServiceError('too-many-requests', 'Too many files and folders are open.');
    const free = handles.take(account.uuid);
    if (!free) throw new ServiceError('too-many-requests', 'Too many files and folders of the account are open.');
    try {
      const opened = await open();
      do this.#last = (this.#last + 1) % 2 ** 32;
      while (this.#kept.has(this.#last));
      this.#kept.set(this.#last, { opened, free });
      return this.#last;
    } catch (error) {
      free();
      throw error;
    }
  }

  /**
   * Runs what a request does with a handle, beside others that share it, in the order in which they were asked for.
   *
   * @throws ServiceError `precondition-failed` when it is not open, or was closed by a request before
   */
  async shared<T>(handle: Handle, action: (opened: OpenHandle) => T | Promise<T>): Promise<T> {
    return this.#find(handle).opened.turns.shared(() => action(this.#find(handle).opened));
  }

  /** The same for a request that takes several steps: those behind it wait until it is done. */
  async alone<Handles extends readonly Handle[], T>(
    handles: readonly [...Handles],
    action: (...opened: { [Index in keyof Handles]: OpenHandle }) => T | Promise<T>,
  ): Promise<T> {
    const found = () => handles.map((handle) => this.#find(handle).opened) as { [Index in keyof Handles]: OpenHandle };
    return withExclusiveLocks(new Set(found().map(({ turns }) => turns)), async () => action(...found()));
  }

  /** The turns at all that a request about paths concerns. */
  turnsOf(request: RequestPaths): ReadWriteLock[] {
    return [...this.#kept.values()].filter(({ opened }) => concerns(request, opened.path)).map(({ opened }) => opened.turns);
  }

  /** The client closes it. @throws ServiceError `precondition-failed` when it is not open, and whatever its end brings */
  close(handle: Handle): Promise<void> {
    return this.alone([handle], () => {
      const { opened, free } = this.#find(handle);
      return opened.close().finally(() => {
        this.#kept.delete(handle);
        free();
      });
    });
  }

  /** Drops everything: the connection is gone. */
  async lose(): Promise<void> {
    const all = [...this.#kept.values()];
    this.#kept.clear();
    await Promise.all(all.map(({ opened, free }) => opened.lose().finally(free)));
  }

  #find(handle: Handle) {
    const kept = this.#kept.get(handle);
    if (!kept) throw new ServiceError('precondition-failed', 'The handle is not valid.');
    return kept;
  }
}
