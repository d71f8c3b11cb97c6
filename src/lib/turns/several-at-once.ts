/**
 * Runs an action for every item, several at once. Resolves, or rejects with the first fault, when nothing is under way any more; after a fault
 * some items may not have had their turn.
 */
export async function severalAtOnce<T>(items: readonly T[], atOnce: number, action: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const lane = async () => {
    for (const item of waiting) await action(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
