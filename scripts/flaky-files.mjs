// Counts runs in which a test file failed beside others, but passed alone. Two successive ones are a fault of the test.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Number of successive flaky runs of a file after which continuous integration fails. */
export const tooManyRuns = 2;

/**
 * Counts a run.
 *
 * @param {string} store path of the file with the counts
 * @param {readonly string[]} ran test files of the run
 * @param {readonly string[]} flaky the files that passed only when they ran alone
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
    // There is no complete file yet.
    return {};
  }
}
