/** Items after which others get a turn; one may take the better part of a millisecond (a path of many folders, an event). */
const itemsPerTurn = 8;

/**
 * Goes through items of a request, of which a client may send many, and lets other requests run between them: what looks at files
 * without waiting for anything would keep all others waiting until the last item.
 */
export async function* inTurns<T>(items: Iterable<T>): AsyncGenerator<T> {
  let seen = 0;
  for (const item of items) {
    if (++seen % itemsPerTurn === 0) await new Promise(setImmediate);
    yield item;
  }
}
