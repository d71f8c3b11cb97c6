import { close, closeSync, constants, lstatSync, openSync, type Stats, statfsSync } from 'node:fs';
import { descriptorsNameFiles, openToLook } from './real-roots.ts';

/** The kernel frees a GiB in a fifth of a second; from this size on another thread waits for it. */
const largeBytes = 4 * 1024 * 1024;

/** File systems (statfs(2)) that rename an open file to a hidden name instead of removing it: NFS, SMB (three versions), FUSE, AFS (two). */
const hidingTypes: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546, 0x5346414f, 0x6b414653]);

/**
 * Removes a name of a file, by unlink(2) or a rename(2) over it, without blocking the event loop for seconds while the kernel frees many
 * GiB: the file is kept open, so that its close in the thread pool frees it.
 *
 * @param member the path that is removed
 * @param stats of the path by lstat(2), if known
 * @param action removes the name, synchronously
 * @returns the result of the action, and a promise that resolves once the space is free and never rejects; undefined if it is free already
 * @throws what the action throws
 */
export function freeInBackground<T>(
  member: string,
  stats: Stats | undefined,
  action: () => T,
): { result: T; freed: Promise<void> | undefined } {
  const fd = openLarge(member, stats);
  if (fd === undefined) return { result: action(), freed: undefined };
  try {
    const result = action();
    return { result, freed: closeFile(fd, largeBytes) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Closes a file that may have lost its last name since it was opened: a large one in the thread pool.
 *
 * @param sizeBytes approximate size
 * @returns resolves once a large file is closed and its space free; never rejects. Undefined for a small one
 */
export function closeFile(fd: number, sizeBytes: number): Promise<void> | undefined {
  if (sizeBytes >= largeBytes) return new Promise((resolve) => close(fd, () => resolve()));
  closeSync(fd);
  return undefined;
}

function openLarge(member: string, known: Stats | undefined): number | undefined {
  try {
    // The type numbers are those of Linux; some other systems do not let open files be replaced.
    if (!descriptorsNameFiles) return undefined;
    const stats = known ?? lstatSync(member);
    if (!stats.isFile() || stats.size < largeBytes || hidingTypes.has(statfsSync(member).type)) return undefined;
    return openSync(member, openToLook | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // The action frees it synchronously.
    return undefined;
  }
}
