import { readdirSync, readlinkSync } from 'node:fs';

/** What this process has open below a folder, by names in it, those of files that are gone included; needs Linux. */
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
