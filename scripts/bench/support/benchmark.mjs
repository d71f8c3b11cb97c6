// Common to the benchmarks: working folders, and the folder of results.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeBetween } from './table.mjs';

/** The executable of `npm run build`. */
export const executable = fileURLToPath(new URL('../../../dist/svc.mjs', import.meta.url));

/** The option `--against`, as `parseArgs` takes it. */
export const against = { type: 'string' };

/** Makes a folder for all that a benchmark writes. @param home folders of `home`, which servers serve, beside `small`, a file of 1 KiB */
export function makeFolders(home = []) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const served = join(folder, 'home');
  for (const name of ['.', ...home]) mkdirSync(join(served, name), { recursive: true });
  writeFileSync(join(served, 'small'), Buffer.alloc(1024, 'x'));
  return { folder, home: served };
}

/** Removes folders, also while programs that were told to end write a last time. */
export function remove(...folders) {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}

/** Empties folders, and lets the disk finish with what the round before wrote, so that no server pays for another. */
export function empty(...folders) {
  for (const folder of folders) {
    remove(folder);
    mkdirSync(folder);
  }
  execFileSync('sync');
}

/** Writes files of the same size, by names of a kind that every server knows: rclone opens files whose extension it does not know. */
export function fillFolder(folder, count, bytes = 0) {
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < count; index++) writeFileSync(join(folder, `file number ${index}.png`), Buffer.alloc(bytes, 'x'));
}

/** The commit that is measured. */
export function commitHash() {
  return execFileSync('git', ['log', '-1', '--format=%h'], { encoding: 'utf8' }).trim();
}

/** How many rounds the medians are of. */
export function medians(rounds) {
  return `Medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`;
}

/** Prints a result, and puts it into the documentation where that is wanted. */
export function publish(part, text, isWritten) {
  console.log(text);
  if (isWritten) writeBetween('docs/operate/performance.md', `bench-${part}`, text);
}
