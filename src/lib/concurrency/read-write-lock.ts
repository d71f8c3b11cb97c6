interface Waiting {
  isExclusive: boolean;
  begin: () => void;
}

/** A lock for shared and exclusive actions, which start in the order of the calls. While an exclusive action runs, no other action runs. */
export class ReadWriteLock {
  readonly #waiting: Waiting[] = [];
  #running = 0;
  #isExclusive = false;

  /** Runs an action after the exclusive actions that were requested earlier. Other shared actions can run at the same time. */
  shared<T>(action: () => T | Promise<T>): Promise<T> {
    return this.#run(false, action);
  }

  /** Runs an action after all actions that were requested earlier, and before all later ones. */
  exclusive<T>(action: () => T | Promise<T>): Promise<T> {
    return this.#run(true, action);
  }

  // An action must start synchronously, either in this call or when another action ends. If there were an `await` before the start, the
  // action of a later call could start first.
  #run<T>(isExclusive: boolean, action: () => T | Promise<T>): Promise<T> {
    if (this.#waiting.length === 0 && this.#mayBegin(isExclusive)) return this.#begin(isExclusive, action);
    return new Promise((resolve) => {
      this.#waiting.push({ isExclusive, begin: () => resolve(this.#begin(isExclusive, action)) });
    });
  }

  #mayBegin(isExclusive: boolean): boolean {
    return this.#running === 0 || !(isExclusive || this.#isExclusive);
  }

  async #begin<T>(isExclusive: boolean, action: () => T | Promise<T>): Promise<T> {
    this.#running++;
    this.#isExclusive = isExclusive;
    try {
      return await action();
    } finally {
      this.#running--;
      while (this.#waiting[0] && this.#mayBegin(this.#waiting[0].isExclusive)) this.#waiting.shift()?.begin();
    }
  }
}

/** Runs an action under several exclusive locks. All of them are requested in the same step, so that two such actions cannot deadlock. */
export function withExclusiveLocks<T>(locks: ReadonlySet<ReadWriteLock>, action: () => Promise<T>): Promise<T> {
  const [first] = locks;
  return first && locks.size === 1 ? first.exclusive(action) : withSeveralLocks(locks, action);
}

async function withSeveralLocks<T>(locks: ReadonlySet<ReadWriteLock>, action: () => Promise<T>): Promise<T> {
  const ends: (() => void)[] = [];
  const takeOne = (each: ReadWriteLock) =>
    new Promise<void>((begun) => {
      void each.exclusive(() => {
        begun();
        return new Promise<void>((end) => ends.push(end));
      });
    });
  await Promise.all([...locks].map(takeOne));
  try {
    return await action();
  } finally {
    for (const end of ends) end();
  }
}
