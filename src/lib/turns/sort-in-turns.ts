/** Items that are sorted, or merged, in one turn. */
const itemsPerTurn = 2_000;

/**
 * Sorts however many items while others get their turns. What is nearly in order already takes little more than a look.
 *
 * @returns a new list; items that compare as equal stay in their order
 */
export async function sortInTurns<T>(items: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += itemsPerTurn) {
    if (at > 0) await nextTurn();
    runs.push(items.slice(at, at + itemsPerTurn).sort(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [first = [], second = []] = runs.slice(at, at + 2);
      merged.push(await mergeInTurns(first, second, compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergeInTurns<T>(first: readonly T[], second: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const merged: T[] = [];
  let [one, other] = [0, 0];
  while (one < first.length && other < second.length) {
    // The runs follow each other, or what is left of them does.
    if (compare(first.at(-1) as T, second[other] as T) <= 0) break;
    for (let count = 0; count < itemsPerTurn && one < first.length && other < second.length; count++) {
      const isFirst = compare(first[one] as T, second[other] as T) <= 0;
      merged.push((isFirst ? first[one++] : second[other++]) as T);
    }
    await nextTurn();
  }
  return merged.concat(first.slice(one), second.slice(other));
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
