/**
 * Returns how many insertions, deletions, changes and swaps of neighbours turn one text into the other (optimal string alignment distance).
 */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number) => rows[row]?.[column] as number;
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= b.length; column++) {
      const change = at(row - 1, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swap = isSwap ? at(row - 2, column - 2) + 1 : change;
      current[column] = Math.min(change, swap, at(row - 1, column) + 1, at(row, column - 1) + 1);
    }
  }
  return at(a.length, b.length);
}

/**
 * Finds the known name that was probably meant. Up to a third of its letters may differ. In a name of one or two letters, one letter may
 * differ.
 *
 * @returns undefined if no name is that similar
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase().slice(0, 64), candidate.toLowerCase());
    if (!best || distance < best.distance) best = { name: candidate, distance };
  }
  return best && best.distance <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : undefined;
}

/** Returns a question that suggests the name that was probably meant; undefined if no name is similar. */
export function didYouMean(name: string, known: Iterable<string>): string | undefined {
  const nearest = nearestName(name, known);
  return nearest === undefined ? undefined : `did you mean "${nearest}"?`;
}
