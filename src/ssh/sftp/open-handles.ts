import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import type { AttributeChange } from '../../files/operations/set-attributes.ts';
import { ReadWriteLock, withExclusiveLocks } from '../../lib/concurrency/read-write-lock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { isWithin, type VirtualPath } from '../../lib/virtual-path.ts';
import type { SshClient } from '../ssh-client.ts';
import type { Handle } from './packets/packets.ts';

/** The paths of a request; with `isDeep` everything below them, too. */
export interface RequestPaths {
  paths: readonly VirtualPath[];
  isDeep: boolean;
}

interface PathRequest extends RequestPaths {
  locks: ReadonlySet<ReadWriteLock>;
}

/** Whether a request about paths concerns this one. */
function concerns({ paths, isDeep }: RequestPaths, path: VirtualPath): boolean {
  return paths.some((one) => one === path || (isDeep && isWithin(path, one)));
}

/**
 * Makes the requests of one session take effect as if each came after the reply to the one before (draft-ietf-secsh-filexfer-02 §6.1): those
 * about one open file by its lock, those about paths one after the other, and both where they meet.
 */
export class RequestOrder {
  readonly #onPaths = new Set<PathRequest>();
  #lastOnPath: Promise<unknown> = Promise.resolve();
  #lastLong: Promise<unknown> = Promise.resolve();

  /**
   * Runs the work of a request about paths after earlier ones, and in order with requests about files that are open there.
   *
   * @param own lock of what the request may open: later requests for its path wait there
   * @param open locks of the open files that the request is about
   */
  onPath<T>(request: RequestPaths, own: ReadWriteLock, open: readonly ReadWriteLock[], action: () => Promise<T>): Promise<T> {
    const locks = new Set([own, ...open]);
    // A waiting request may open a file at this path, or move one there.
    for (const before of this.#onPaths) if (isAboutSame(before, request)) for (const lock of before.locks) locks.add(lock);
    const current = { paths: request.paths, isDeep: request.isDeep, locks };
    this.#onPaths.add(current);
    const before = this.#lastOnPath;
    const result = withExclusiveLocks(locks, async () => {
      await before;
      return action();
    }).finally(() => this.#onPaths.delete(current));
    this.#lastOnPath = result.catch(() => {});
    return result;
  }

  /** Runs actions that read a whole file one after the other, so that other requests need not wait. */
  long<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#lastLong.then(action);
    this.#lastLong = result.catch(() => {});
    return result;
  }
}

function isAboutSame(one: RequestPaths, other: RequestPaths): boolean {
  return one.paths.some((path) => concerns(other, path)) || other.paths.some((path) => concerns(one, path));
}

/** A file or folder that a client has open. Methods reject with `ServiceError`. */
export interface OpenHandle {
  readonly kind: 'file' | 'folder';
  /** Path where it was opened; for an upload its future path. */
  readonly path: VirtualPath;
  /** Orders the requests about it; the handles of one upload share it. */
  readonly lock: ReadWriteLock;
  /** @returns bytes read into the target from its beginning; 0 at the end of the file */
  read(offset: number, target: Buffer): Promise<number> | number;
  /** Writes the chunks, which are not changed until the promise resolves. */
  write(offset: number, chunks: readonly Buffer[]): Promise<void>;
  entry(): Promise<Entry>;
  truncate(sizeBytes: number): Promise<void>;
  setAttributes(change: AttributeChange): Promise<void>;
  sync(): Promise<void>;
  /** The client closed it. Resolves when its changes are on disk and reported. */
  close(): Promise<void>;
  /** The connection is gone. Never rejects. */
  lose(): Promise<void>;
}

/** The common part of handles that only read. */
export abstract class ReadHandle {
  readonly path: VirtualPath;
  readonly lock = new ReadWriteLock();
  protected readonly files: AccountFiles;

  constructor(files: AccountFiles, path: VirtualPath) {
    this.files = files;
    this.path = path;
  }

  /** Why nothing can be written. */
  protected abstract refusal(): ServiceError;

  async write(): Promise<void> {
    throw this.refusal();
  }

  async truncate(): Promise<void> {
    throw this.refusal();
  }

  async setAttributes(change: AttributeChange): Promise<void> {
    await this.files.setAttributes(this.path, change);
  }
}

/** The files and folders that one session has open, by the numbers that its client knows them by. */
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

  /** Opens a file or folder, within the limits. @throws ServiceError `too-many-requests` */
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
   * Runs an action with a handle together with others that share it, in the order of their requests.
   *
   * @throws ServiceError `precondition-failed`, at once when it is not open, or later when an earlier request closed it
   */
  shared<T>(handle: Handle, action: (opened: OpenHandle) => T | Promise<T>): Promise<T> {
    return this.#find(handle).opened.lock.shared(() => action(this.#find(handle).opened));
  }

  /** The same for an action of several steps; later ones wait until it is done. */
  async alone<Handles extends readonly Handle[], T>(
    handles: readonly [...Handles],
    action: (...opened: { [Index in keyof Handles]: OpenHandle }) => T | Promise<T>,
  ): Promise<T> {
    const found = () => handles.map((handle) => this.#find(handle).opened) as { [Index in keyof Handles]: OpenHandle };
    return withExclusiveLocks(new Set(found().map(({ lock }) => lock)), async () => action(...found()));
  }

  /** The locks of all that a request about paths concerns. */
  locksFor(request: RequestPaths): ReadWriteLock[] {
    return [...this.#kept.values()].filter(({ opened }) => concerns(request, opened.path)).map(({ opened }) => opened.lock);
  }

  /** @throws ServiceError `precondition-failed` when it is not open, and the faults of its end */
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
