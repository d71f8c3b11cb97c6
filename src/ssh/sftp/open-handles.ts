import { ServiceError } from '../../lib/errors.ts';
import type { SshClient } from '../ssh-client.ts';
import type { OpenHandle } from './open-handle.ts';
import type { Handle } from './packets/packets.ts';

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

  /** What a number stands for. @throws ServiceError `precondition-failed` for one that is not open */
  opened(handle: Handle): OpenHandle {
    return this.#find(handle).opened;
  }

  /** The client closes it. @throws ServiceError `precondition-failed` for one that is not open, and whatever its end brings */
  async close(handle: Handle): Promise<void> {
    const { opened, free } = this.#find(handle);
    this.#kept.delete(handle);
    await opened.close().finally(free);
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
