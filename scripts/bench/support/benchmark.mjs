// Functions that all benchmarks share, for their working folders.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The executable of `npm run build`. */
export const executable = fileURLToPath(new URL('../../../dist/svc.mjs', import.meta.url));

/** The option `--against`, in the form that `parseArgs` needs. */
export const against = { type: 'string' };

/**
 * Creates a folder for everything that a benchmark writes. If the program runs as root and can mount an image, the folder is on a new ext4
 * file system with a journal, like the disks of users.
 *
 * @param home names of subfolders of the served folder `home`, which also contains the file `small` (1 KiB)
 * @returns `disk` names the file system, for the line about the machine; `clear` removes everything
 */
export function makeFolders(home = []) {
  const outer = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const folder = join(outer, 'disk');
  mkdirSync(folder);
  const fault = mountJournaled(join(outer, 'image'), folder);
  const kind = spawnSync('findmnt', ['-no', 'FSTYPE', '-T', folder], { encoding: 'utf8' }).stdout?.trim() || 'unknown';
  const disk = fault ? `the ${kind} of ${tmpdir()} (no journaled image: ${fault})` : 'journaled ext4 in a loop-mounted image';
  mounted = fault ? undefined : folder;
  const clear = () => {
    unmount();
    remove(outer);
  };
  const served = join(folder, 'home');
  for (const name of ['.', ...home]) mkdirSync(join(served, name), { recursive: true });
  writeFileSync(join(served, 'small'), Buffer.alloc(1024, 'x'));
  return { folder, home: served, disk, clear };
}

let mounted;
const unmount = () => mounted && spawnSync('umount', ['--lazy', mounted]);
process.once('exit', unmount);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/**
 * Mounts a new image, which occupies only as much of the disk as is written to it.
 *
 * @returns the reason if it cannot be mounted; otherwise undefined
 */
function mountJournaled(image, folder) {
  if (process.getuid() !== 0) return 'only root can mount one';
  const { bavail, bsize } = statfsSync(tmpdir());
  writeFileSync(image, '');
  truncateSync(image, Math.min(32 * 2 ** 30, Math.floor(bavail * 0.8) * bsize));
  // Tables and journal are created immediately. Otherwise the kernel would create them during the measurement.
  const make = ['mkfs.ext4', '-q', '-F', '-O', 'has_journal', '-i', '65536', '-E', 'lazy_itable_init=0,lazy_journal_init=0', image];
  for (const [program, ...args] of [make, ['mount', '-o', 'loop', image, folder]]) {
    const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
    if (status !== 0) return `${program}: ${error?.code ?? stderr.trim().split('\n')[0]}`;
  }
  return undefined;
}

/** Removes folders. It retries, because programs that are ending may still write to them. */
export function remove(...folders) {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}

/** Empties folders. Waits until the disk has finished the writes of the previous round, because they would slow down the next server. */
export function empty(...folders) {
  for (const folder of folders) {
    remove(folder);
    mkdirSync(folder);
  }
  execFileSync('sync');
}

/**
 * Writes files of the same size. Their extension is known to all servers. Otherwise rclone would open each file to find its type.
 */
export function fillFolder(folder, count, bytes = 0) {
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < count; index++) writeFileSync(join(folder, `file number ${index}.png`), Buffer.alloc(bytes, 'x'));
}
