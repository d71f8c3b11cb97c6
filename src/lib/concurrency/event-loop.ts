/**
 * Runs an action for every item, several at once. Resolves, or rejects with the first fault, when nothing is under way any more; after a fault
 * some items may not have had their turn.
 */
export async function forEachConcurrently<T>(items: readonly T[], atOnce: number, action: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const lane = async () => {
    for (const item of waiting) await action(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** Items after which others get a turn; one may take the better part of a millisecond (a path of many folders, an event). */
const itemsPerTurn = 8;

/**
 * Goes through items of a request, of which a client may send many, and lets other requests run between them: what looks at files
 * without waiting for anything would keep all others waiting until the last item.
 */
export async function* cooperatively<T>(items: Iterable<T>): AsyncGenerator<T> {
  let seen = 0;
  for (const item of items) {
    if (++seen % itemsPerTurn === 0) await new Promise(setImmediate);
    yield item;
  }
}

/**
 * Remembers what a function made of an argument for the rest of this turn of the event loop, as the requests of one turn often ask the same.
 * Only for functions whose result depends on nothing but the argument: what may change (a session, a ban) must be asked for each time.
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
