import { close, closeSync, constants, lstatSync, openSync, type Stats, statfsSync } from 'node:fs';
import { descriptorsNameFiles, openToLook } from './real-roots.ts';

/** To free a file takes the kernel a fifth of a second for each GiB; from this size on another thread waits for it. */
const largeBytes = 4 * 1024 * 1024;

/** Types of statfs(2) that give an open file a hidden name where its last one is taken away: NFS, SMB (three versions), FUSE, AFS (two). */
const hidingTypes: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546, 0x5346414f, 0x6b414653]);

/**
 * Takes a name away from a file, by unlink(2) or a rename(2) over it, without waiting here until the kernel has freed what the file
 * took: of a file with many GiB that would keep everybody else waiting for seconds. The file stays open meanwhile, and what frees it is
 * its close, in the thread pool.
 *
 * @param member the path whose name is taken away
 * @param stats what it is, by lstat(2), where that is known
 * @param action takes the name away, synchronously
 * @returns what the action returned, and a promise that resolves once the space is free; undefined when it is already. It never rejects
 * @throws what the action throws
 */
export function freeInBackground<T>(
  member: string,
  stats: Stats | undefined,
  action: () => T,
): { result: T; freed: Promise<void> | undefined } {
  const fd = held(member, stats);
  if (fd === undefined) return { result: action(), freed: undefined };
  try {
    const result = action();
    // What is held is large.
    return { result, freed: closeFile(fd, largeBytes) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Closes a file that may have lost its last name since it was opened: a large one in the thread pool.
 *
 * @param sizeBytes about what it takes
 * @returns resolves once a large file is closed, and its space free if that was its last name; never rejects. Undefined for a small one
 */
export function closeFile(fd: number, sizeBytes: number): Promise<void> | undefined {
  if (sizeBytes >= largeBytes) return new Promise((resolve) => close(fd, () => resolve()));
  closeSync(fd);
  return undefined;
}

function held(member: string, known: Stats | undefined): number | undefined {
  try {
    // Other systems number their file systems otherwise, or keep open files from being replaced.
    if (!descriptorsNameFiles) return undefined;
    const stats = known ?? lstatSync(member);
    if (!stats.isFile() || stats.size < largeBytes || hidingTypes.has(statfsSync(member).type)) return undefined;
    return openSync(member, openToLook | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // Then it is freed here and now.
    return undefined;
  }
}
