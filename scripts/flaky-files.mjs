// Test files that failed beside others and passed alone, kept from run to run: one such run may be an accident of a busy machine, two in a
// row are a fault of the test.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A file that needed its second try in this many runs in a row fails continuous integration. */
export const tooManyRuns = 2;

/**
 * Counts a run.
 *
 * @param {string} store path of the list that is kept
 * @param {readonly string[]} ran test files of the run: those that passed at once are forgotten, others keep their count
 * @param {readonly string[]} flaky those of them that passed alone only
 * @returns {{ path: string, runs: number }[]} the flaky ones, each with its runs in a row
 */
export function countFlaky(store, ran, flaky) {
  const known = readCounts(store);
  const found = flaky.map((path) => ({ path, runs: (known[path] ?? 0) + 1 }));
  for (const path of ran) delete known[path];
  for (const { path, runs } of found) known[path] = runs;
  mkdirSync(dirname(store), { recursive: true });
  writeFileSync(store, `${JSON.stringify(known, null, 2)}\n`);
  return found;
}

function readCounts(store) {
  try {
    return JSON.parse(readFileSync(store, 'utf8'));
  } catch {
    // There is none yet, or a run was ended while it wrote it.
    return {};
  }
}
