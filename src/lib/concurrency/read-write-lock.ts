interface Waiting {
  isExclusive: boolean;
  begin: () => void;
}

/** Gives turns in the order in which they are asked for: shared ones at the same time, an exclusive one alone. */
export class ReadWriteLock {
  readonly #waiting: Waiting[] = [];
  #had = 0;
  #isExclusive = false;

  /** Runs an action beside others that share: it begins at once, or after the exclusive turns that were asked for before. */
  shared<T>(action: () => T | Promise<T>): Promise<T> {
    return this.#run(false, action);
  }

  /** Runs an action after all that was asked for before, and before what is asked for later. */
  exclusive<T>(action: () => T | Promise<T>): Promise<T> {
    return this.#run(true, action);
  }

  // The action begins in this call or in the one that ends a turn: after a promise, a later one might overtake it.
  #run<T>(isExclusive: boolean, action: () => T | Promise<T>): Promise<T> {
    if (this.#waiting.length === 0 && this.#mayBegin(isExclusive)) return this.#begin(isExclusive, action);
    return new Promise((resolve) => {
      this.#waiting.push({ isExclusive, begin: () => resolve(this.#begin(isExclusive, action)) });
    });
  }

  #mayBegin(isExclusive: boolean): boolean {
    return this.#had === 0 || !(isExclusive || this.#isExclusive);
  }

  async #begin<T>(isExclusive: boolean, action: () => T | Promise<T>): Promise<T> {
    this.#had++;
    this.#isExclusive = isExclusive;
    try {
      return await action();
    } finally {
      this.#had--;
      while (this.#waiting[0] && this.#mayBegin(this.#waiting[0].isExclusive)) this.#waiting.shift()?.begin();
    }
  }
}

/**
 * Runs an action while it has an exclusive turn at each of several things. The turns are asked for at once, so that two such actions never
 * wait for each other.
 */
export async function withExclusiveLocks<T>(turns: ReadonlySet<ReadWriteLock>, action: () => Promise<T>): Promise<T> {
  const ends: (() => void)[] = [];
  const takeOne = (each: ReadWriteLock) =>
    new Promise<void>((begun) => {
      void each.exclusive(() => {
        begun();
        return new Promise<void>((end) => ends.push(end));
      });
    });
  await Promise.all([...turns].map(takeOne));
  try {
    return await action();
  } finally {
    for (const end of ends) end();
  }
}
