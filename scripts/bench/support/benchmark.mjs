// What the benchmarks have in common: their options, the folders they work in, and where their results go.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeBetween } from './table.mjs';

/** What `npm run build` made. */
export const executable = fileURLToPath(new URL('../../../dist/svc.mjs', import.meta.url));

/** Options that some have, as `parseArgs` takes them. */
export const only = { type: 'string', default: '' };
export const against = { type: 'string' };
export const node = { type: 'string', multiple: true, default: [] };

/**
 * Reads the options of a benchmark, and goes to the root of the project.
 *
 * @param usualRounds how many rounds there are without `--rounds`; with `--smoke` there is one
 * @param more options beside `--rounds`, `--smoke` and `--write` @param allowPositionals whether it takes other arguments
 */
export function readOptions(usualRounds, more = {}, allowPositionals = false) {
  process.chdir(new URL('../../..', import.meta.url).pathname);
  const common = { rounds: { type: 'string', default: String(usualRounds) }, smoke: { type: 'boolean' }, write: { type: 'boolean' } };
  const { values, positionals } = parseArgs({ allowPositionals, options: { ...common, ...more } });
  return { ...values, rounds: values.smoke ? 1 : Number(values.rounds), positionals };
}

/** Makes a folder for all that a benchmark writes. @param home folders of `home`, which servers serve, beside `small`, a file of 1 KiB */
export function makeFolders(home = [], parent = tmpdir()) {
  const folder = mkdtempSync(join(parent, 'svc-bench-'));
  const served = join(folder, 'home');
  for (const name of ['.', ...home]) mkdirSync(join(served, name), { recursive: true });
  writeFileSync(join(served, 'small'), Buffer.alloc(1024, 'x'));
  return { folder, home: served };
}

/** Removes folders, also while programs that were told to end write a last time. */
export function remove(...folders) {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}

/** The commit that is measured. */
export function commitHash() {
  return execFileSync('git', ['log', '-1', '--format=%h'], { encoding: 'utf8' }).trim();
}

/** How many rounds the medians are of. */
export function medians(rounds) {
  return `Medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'} [least–most]`;
}

/** Prints a result, and puts it into the documentation where that is wanted. */
export function publish(part, text, isWritten) {
  console.log(text);
  if (isWritten) writeBetween('docs/operate/performance.md', `bench-${part}`, text);
}
