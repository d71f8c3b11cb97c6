import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import type { AttributeChange } from '../../files/operations/set-attributes.ts';
import { ReadWriteLock, withExclusiveLocks } from '../../lib/concurrency/read-write-lock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { isWithin, type VirtualPath } from '../../lib/virtual-path.ts';
import type { SshClient } from '../ssh-client.ts';
import type { Handle } from './packets/packets.ts';

/** The paths that a request affects. With `isDeep`, everything below them is affected, too. */
export interface RequestPaths {
  paths: readonly VirtualPath[];
  isDeep: boolean;
}

interface PathRequest extends RequestPaths {
  locks: ReadonlySet<ReadWriteLock>;
}

function concerns({ paths, isDeep }: RequestPaths, path: VirtualPath): boolean {
  return paths.some((one) => one === path || (isDeep && isWithin(path, one)));
}

/**
 * Orders the requests of one session. They take effect as if each request arrived after the reply to the previous one
 * (draft-ietf-secsh-filexfer-02 §6.1). The lock of an open file orders the requests about this file. Requests about paths run one after the
 * other. A request about a path with an open file waits for the lock of the file and for earlier requests about paths.
 */
export class RequestOrder {
  readonly #onPaths = new Set<PathRequest>();
  #lastOnPath: Promise<unknown> = Promise.resolve();
  #lastLong: Promise<unknown> = Promise.resolve();

  /**
   * Runs a request about paths after earlier requests about paths, and in order with requests about open files at these paths.
   *
   * @param own lock of the file that the request may open. Later requests for the path of this file wait for the lock
   * @param open locks of the open files that the request affects
   */
  onPath<T>(request: RequestPaths, own: ReadWriteLock, open: readonly ReadWriteLock[], action: () => Promise<T>): Promise<T> {
    const locks = new Set([own, ...open]);
    // An earlier request that still waits could open a file at this path, or move a file to this path.
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

  /**
   * Runs an action that reads a whole file. Such actions run one after the other, independently of the order of requests about paths.
   */
  long<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#lastLong.then(action);
    this.#lastLong = result.catch(() => {});
    return result;
  }
}

function isAboutSame(one: RequestPaths, other: RequestPaths): boolean {
  return one.paths.some((path) => concerns(other, path)) || other.paths.some((path) => concerns(one, path));
}

/** A file or folder that a client has opened. Its methods reject with `ServiceError`. */
export interface OpenHandle {
  readonly kind: 'file' | 'folder';
  /** The path at which the file or folder was opened. For an upload, the path of the complete file. */
  readonly path: VirtualPath;
  /** Orders the requests about this handle. All handles of one upload share the lock. */
  readonly lock: ReadWriteLock;
  /** Reads into the target. @returns the number of bytes read; 0 at the end of the file */
  read(offset: number, target: Buffer): Promise<number> | number;
  /** Writes the chunks. The caller must not change them until the promise resolves. */
  write(offset: number, chunks: readonly Buffer[]): Promise<void>;
  entry(): Promise<Entry>;
  truncate(sizeBytes: number): Promise<void>;
  setAttributes(change: AttributeChange): Promise<void>;
  sync(): Promise<void>;
  /** Called when the client closes the handle. Resolves when all changes are on disk and reported. */
  close(): Promise<void>;
  /** Called when the channel ends before the client has closed the handle. Never rejects. */
  lose(): Promise<void>;
}

/** The common part of handles that can only read. */
export abstract class ReadHandle {
  readonly path: VirtualPath;
  readonly lock = new ReadWriteLock();
  protected readonly files: AccountFiles;

  constructor(files: AccountFiles, path: VirtualPath) {
    this.files = files;
    this.path = path;
  }

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

/** The open files and folders of one session, by handle. */
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

  /** Opens a file or folder. @throws ServiceError `too-many-requests` above the limit of open handles */
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
   * Runs an action with a handle. Several shared actions of one handle can run at the same time. They start in the order of the requests.
   *
   * @throws ServiceError `precondition-failed`: immediately if the handle is not open, or later if an earlier request closed it
   */
  shared<T>(handle: Handle, action: (opened: OpenHandle) => T | Promise<T>): Promise<T> {
    return this.#find(handle).opened.lock.shared(() => action(this.#find(handle).opened));
  }

  /** Runs an action that takes several steps. Later actions with the same handles wait until this action has ended. */
  async alone<Handles extends readonly Handle[], T>(
    handles: readonly [...Handles],
    action: (...opened: { [Index in keyof Handles]: OpenHandle }) => T | Promise<T>,
  ): Promise<T> {
    const found = () => handles.map((handle) => this.#find(handle).opened) as { [Index in keyof Handles]: OpenHandle };
    return withExclusiveLocks(new Set(found().map(({ lock }) => lock)), async () => action(...found()));
  }

  /** Returns the locks of all open files and folders that a request about paths affects. */
  locksFor(request: RequestPaths): ReadWriteLock[] {
    return [...this.#kept.values()].filter(({ opened }) => concerns(request, opened.path)).map(({ opened }) => opened.lock);
  }

  /** Closes a handle. @throws ServiceError `precondition-failed` if the handle is not open, and the errors of its close */
  close(handle: Handle): Promise<void> {
    return this.alone([handle], () => {
      const { opened, free } = this.#find(handle);
      return opened.close().finally(() => {
        this.#kept.delete(handle);
        free();
      });
    });
  }

  /** Drops all open files and folders, because the channel has ended. */
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
