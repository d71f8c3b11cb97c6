/** Number of single-character edits between two texts (Levenshtein distance). */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const change = (previous[column - 1] as number) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current[column] = Math.min(change, (previous[column] as number) + 1, (current[column - 1] as number) + 1);
    }
    previous = current;
  }
  return previous[b.length] as number;
}

/**
 * The known name that somebody probably meant.
 *
 * @returns undefined when none is near: more than a third of the letters differ
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase().slice(0, 64), candidate.toLowerCase());
    if (!best || distance < best.distance) best = { name: candidate, distance };
  }
  return best && best.distance <= Math.max(1, Math.ceil(best.name.length / 3)) ? best.name : undefined;
}

/** A question for the name that somebody probably meant; undefined when none is near. */
export function didYouMean(name: string, known: Iterable<string>): string | undefined {
  const nearest = nearestName(name, known);
  return nearest === undefined ? undefined : `did you mean "${nearest}"?`;
}
