/** Runs an action for each item, several at once. Rejects with the first fault when all running ones have ended; others may be skipped then. */
export async function forEachConcurrently<T>(items: readonly T[], atOnce: number, action: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const lane = async () => {
    for (const item of waiting) await action(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** Number of items between two pauses; one item may take almost a millisecond (a path of many folders, an event). */
const itemsPerTick = 8;

/** Iterates over the many items that a request may have, and lets other requests run between them, which synchronous work would block. */
export async function* cooperatively<T>(items: Iterable<T>): AsyncGenerator<T> {
  let seen = 0;
  for (const item of items) {
    if (++seen % itemsPerTick === 0) await new Promise(setImmediate);
    yield item;
  }
}

/**
 * Memoizes a function for the rest of this turn of the event loop, because its requests often ask the same. The result must depend only on
 * the argument, not on a session or a ban.
 */
export function memoizeForTick<T extends string | number>(make: (argument: string) => T): (argument: string) => T {
  const known = new Map<string, T>();
  return (argument) => {
    const before = known.get(argument);
    if (before !== undefined) return before;
    if (known.size === 0) setImmediate(() => known.clear());
    const made = make(argument);
    known.set(argument, made);
    return made;
  };
}
