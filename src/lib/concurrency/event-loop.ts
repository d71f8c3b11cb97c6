/**
 * Runs an action for each item, at most `atOnce` at the same time. Each failure reduces this number by one. If it reaches zero, the
 * remaining items are skipped. Rejects at the end with one of the errors.
 */
export async function forEachConcurrently<T>(items: readonly T[], atOnce: number, action: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const lane = async () => {
    for (const item of waiting) await action(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** Number of items between two pauses. One item, such as a deep path or an event, may take almost a millisecond. */
const itemsPerTick = 8;

/** Iterates over the items of a request. There may be many items, so other requests can run between them. */
export async function* cooperatively<T>(items: Iterable<T>): AsyncGenerator<T> {
  let seen = 0;
  for (const item of items) {
    if (++seen % itemsPerTick === 0) await new Promise(setImmediate);
    yield item;
  }
}

/**
 * Memoizes a function for the rest of this turn of the event loop, because the requests of one turn often need the same result. The result
 * must depend only on the argument. It must not depend on a session or a ban, for example.
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
