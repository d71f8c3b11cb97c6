import { type ReadWriteLock, withExclusiveLocks } from '../../lib/concurrency/read-write-lock.ts';
import { isWithin, type VirtualPath } from '../../lib/virtual-path.ts';

/** The paths of a request; with `isDeep` it is about what lies below them, too. */
export interface RequestPaths {
  paths: readonly VirtualPath[];
  isDeep: boolean;
}

interface PathRequest extends RequestPaths {
  turns: ReadonlySet<ReadWriteLock>;
}

/** Whether a request about paths is about this one. */
export function concerns({ paths, isDeep }: RequestPaths, path: VirtualPath): boolean {
  return paths.some((one) => one === path || (isDeep && isWithin(path, one)));
}

/**
 * Has the requests of one session take effect as if each came after the reply to the one before (draft-ietf-secsh-filexfer-02 §6.1): those
 * about one open file by its turns, those about paths one after the other, and both where they meet.
 */
export class RequestOrder {
  readonly #onPaths = new Set<PathRequest>();
  #lastOnPath: Promise<unknown> = Promise.resolve();
  #lastLong: Promise<unknown> = Promise.resolve();

  /**
   * Runs what a request about paths does, after those before it, and in the order of the requests about files that are open there.
   *
   * @param own turns of what the request opens, if it does: later requests for its path wait there
   * @param open turns at the open files that the request is about
   */
  onPath<T>(request: RequestPaths, own: ReadWriteLock, open: readonly ReadWriteLock[], action: () => Promise<T>): Promise<T> {
    const turns = new Set([own, ...open]);
    // One that waits may open a file at this path, or move it there.
    for (const before of this.#onPaths) if (isAboutSame(before, request)) for (const each of before.turns) turns.add(each);
    const current = { ...request, turns };
    this.#onPaths.add(current);
    const before = this.#lastOnPath;
    const result = withExclusiveLocks(turns, async () => {
      await before;
      return action();
    }).finally(() => this.#onPaths.delete(current));
    this.#lastOnPath = result.catch(() => {});
    return result;
  }

  /** Runs what reads a whole file, one after the other: all at once would keep everybody else waiting. */
  long<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#lastLong.then(action);
    this.#lastLong = result.catch(() => {});
    return result;
  }
}

function isAboutSame(one: RequestPaths, other: RequestPaths): boolean {
  return one.paths.some((path) => concerns(other, path)) || other.paths.some((path) => concerns(one, path));
}
