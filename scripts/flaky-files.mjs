// Counts runs in which a test file failed while others ran beside it, but passed alone. A busy machine can cause one such run; two
// successive ones are a fault of the test.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Continuous integration fails if a file passes only when it runs alone, in this number of successive runs. */
export const tooManyRuns = 2;

/**
 * Counts a run.
 *
 * @param {string} store path of the file with the counts
 * @param {readonly string[]} ran test files of the run. The counts of files that passed at the first try are removed
 * @param {readonly string[]} flaky the files of the run that passed only when they ran alone
 * @returns {{ path: string, runs: number }[]} the flaky files, each with its number of successive runs
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
    // There is no file yet, or a run was interrupted while it wrote the file.
    return {};
  }
}
