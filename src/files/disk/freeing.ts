import { close, closeSync, constants, lstatSync, openSync, type Stats, statfsSync } from 'node:fs';
import { descriptorsNameFiles, openToLook } from './real-roots.ts';

/** Files of at least this size are freed in the thread pool. The kernel needs a fifth of a second to free a GiB. */
const largeBytes = 4 * 1024 * 1024;

/**
 * File systems (statfs(2)) that hide an open file under another name instead of removing it: NFS, SMB (three versions), FUSE, AFS (two).
 * On these file systems, a file is not kept open while it is removed.
 */
const hidingTypes: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546, 0x5346414f, 0x6b414653]);

/**
 * Removes a name of a file: by unlink(2), or by a rename(2) of another file to this name. The file is kept open meanwhile, so that its
 * space is freed only when the thread pool closes it. Otherwise the event loop would block for seconds while the kernel frees many GiB.
 *
 * @param member the path that is removed
 * @param stats result of lstat(2) for the path, if known
 * @param action removes the name synchronously
 * @returns `result` of the action; `freed`, which resolves when the space is free, and never rejects. `freed` is undefined if the space is
 *   already free
 * @throws the errors of the action
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
 * Closes a file whose last name may have been removed since it was opened. A large file is closed in the thread pool.
 *
 * @param sizeBytes approximate size
 * @returns a promise that resolves when a large file is closed, and never rejects; undefined for a small file
 */
export function closeFile(fd: number, sizeBytes: number): Promise<void> | undefined {
  if (sizeBytes >= largeBytes) return new Promise((resolve) => close(fd, () => resolve()));
  closeSync(fd);
  return undefined;
}

function openLarge(member: string, known: Stats | undefined): number | undefined {
  try {
    // Only on Linux: other systems number their file systems differently, and some do not allow an open file to be replaced.
    if (!descriptorsNameFiles) return undefined;
    const stats = known ?? lstatSync(member);
    if (!stats.isFile() || stats.size < largeBytes || hidingTypes.has(statfsSync(member).type)) return undefined;
    return openSync(member, openToLook | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // Without the descriptor, the action itself frees the space.
    return undefined;
  }
}
