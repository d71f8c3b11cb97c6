/** Allows only one action of this process at a time to change the file or folder at a real path. */
export class PathMutex {
  /** For each path, the running action, followed by the waiting actions in their order. */
  readonly #queues = new Map<string, (() => void)[]>();

  /** Waits until no other action uses any of the given real paths, and then runs an action. Actions run in the order of the calls. */
  runExclusive<T>(paths: readonly string[], action: () => T | Promise<T>): Promise<T> {
    const [only = ''] = paths;
    return paths.length === 1 && !this.#queues.has(only) ? this.#runAlone(only, action) : this.#runQueued(paths, action);
  }

  async #runAlone<T>(path: string, action: () => T | Promise<T>): Promise<T> {
    this.#queues.set(path, [() => {}]);
    try {
      return await action();
    } finally {
      this.#unlock(path);
    }
  }

  async #runQueued<T>(paths: readonly string[], action: () => T | Promise<T>): Promise<T> {
    // All actions lock paths in the same order, which prevents deadlocks.
    const ordered = paths.length === 1 ? paths : [...new Set(paths)].sort();
    const locked: string[] = [];
    try {
      for (const path of ordered) {
        await this.#lock(path);
        locked.push(path);
      }
      return await action();
    } finally {
      for (const path of locked) this.#unlock(path);
    }
  }

  #lock(path: string): Promise<void> {
    return new Promise((grant) => {
      const queue = this.#queues.get(path) ?? [];
      this.#queues.set(path, queue);
      if (queue.push(grant) === 1) grant();
    });
  }

  #unlock(path: string): void {
    const queue = this.#queues.get(path) ?? [];
    queue.shift();
    if (queue.length === 0) this.#queues.delete(path);
    queue[0]?.();
  }
}
