import { readdirSync, readlinkSync } from 'node:fs';

/** Returns the names, relative to a folder, of the files in it that this process has open, including deleted files. Needs Linux. */
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
