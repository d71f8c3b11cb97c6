import { readdirSync, readlinkSync } from 'node:fs';

/** Returns the files below a folder that this process has open, including deleted ones, by their names in the folder. Needs Linux. */
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
