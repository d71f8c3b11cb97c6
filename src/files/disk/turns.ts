interface Wish<Holder> {
  holder: Holder;
  grant: () => void;
}

/** Lets one at a time decide about a path and change it, in the order in which they asked. `Holder` is who asks: a worker, or a process itself. */
export class Turns<Holder> {
  /** The first of each list has its turn. */
  readonly #wishes = new Map<string, Wish<Holder>[]>();

  /** Resolves when it is the holder's turn. */
  take(holder: Holder, path: string): Promise<void> {
    return new Promise((grant) => {
      const wishes = this.#wishes.get(path) ?? [];
      wishes.push({ holder, grant });
      this.#wishes.set(path, wishes);
      if (wishes.length === 1) grant();
    });
  }

  /** The holder whose turn it is has done. */
  end(holder: Holder, path: string): void {
    const wishes = this.#wishes.get(path);
    if (wishes?.[0]?.holder === holder) this.#next(path, wishes.slice(1));
  }

  /** A holder is gone. */
  lose(holder: Holder): void {
    for (const [path, wishes] of [...this.#wishes]) {
      const hadTurn = wishes[0]?.holder === holder;
      const left = wishes.filter((wish) => wish.holder !== holder);
      if (hadTurn) this.#next(path, left);
      else this.#wishes.set(path, left);
    }
  }

  #next(path: string, wishes: Wish<Holder>[]): void {
    if (wishes.length === 0) this.#wishes.delete(path);
    else this.#wishes.set(path, wishes);
    wishes[0]?.grant();
  }
}

/** Turns at changing what a real path means. */
export interface PathTurns {
  /** Runs an action while nobody else has the turn at one of the real paths. */
  inTurn<T>(paths: readonly string[], action: () => T | Promise<T>): Promise<T>;
}

/**
 * Turns as the operations on files take them.
 *
 * @param take resolves when it is this process' turn at a path
 * @param end gives the turn on
 */
export function pathTurns(take: (path: string) => Promise<void>, end: (path: string) => void): PathTurns {
  return {
    async inTurn(paths, action) {
      // In one order everywhere, so that no two wait for each other.
      const ordered = paths.length === 1 ? paths : [...new Set(paths)].sort();
      const taken: string[] = [];
      try {
        for (const path of ordered) {
          await take(path);
          taken.push(path);
        }
        return await action();
      } finally {
        for (const path of taken) end(path);
      }
    },
  };
}

/** Turns within one process. */
export function ownTurns(): PathTurns {
  const turns = new Turns<undefined>();
  return pathTurns(
    (path) => turns.take(undefined, path),
    (path) => turns.end(undefined, path),
  );
}
