/**
 * Remembers what a function made of an argument for the rest of this turn of the event loop, as the requests of one turn often ask the same.
 * Only for functions whose result depends on nothing but the argument: what may change (a session, a ban) must be asked for each time.
 */
export function rememberedForTurn<T extends string | number>(make: (argument: string) => T): (argument: string) => T {
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
