import { readdirSync, readlinkSync } from 'node:fs';

/** Returns the names of the open files of this process in a folder, even of deleted ones. Needs Linux. */
export function openBelow(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path.slice(folder.length + 1)] : [];
    } catch {
      return [];
    }
  });
}
