/** Turns at changing what a real path means. */
export interface PathTurns {
  /** Runs an action while nobody else has the turn at one of the real paths; turns come in the order in which they were asked for. */
  inTurn<T>(paths: readonly string[], action: () => T | Promise<T>): Promise<T>;
}

/** Turns within one process. */
export function ownTurns(): PathTurns {
  /** Who has, and waits for, the turn at a path; the first has it. */
  const waiting = new Map<string, (() => void)[]>();
  const take = (path: string) =>
    new Promise<void>((grant) => {
      const grants = waiting.get(path) ?? [];
      waiting.set(path, grants);
      if (grants.push(grant) === 1) grant();
    });
  const end = (path: string) => {
    const grants = waiting.get(path) ?? [];
    grants.shift();
    if (grants.length === 0) waiting.delete(path);
    grants[0]?.();
  };
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
