import { lstatSync, opendirSync } from 'node:fs';
import { systemErrorCode } from '../../lib/errors.ts';
import { lookAt, type OpenedFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { isHiddenName, isTemporaryName, removeAbandoned } from '../disk/temporaries.ts';
import { type Entry, entryOf } from '../entry.ts';

/**
 * Entries looked at in one turn; between two batches other requests run. One lstat costs about 2 µs
 * (docs/operate/performance.md#costs-that-shaped-the-code).
 */
const batchEntries = 256;

export interface FolderReaderOptions {
  /** Names that virtual folders give to this folder; they hide real entries. */
  virtualEntries: readonly Entry[];
  /** Told of a name on disk that is not valid UTF-8 and so cannot be addressed. */
  onUnreadableName: (name: string) => void;
  /** Unix time in milliseconds, by which temporary files of nodes that are gone are removed. */
  nowMs: number;
}

/**
 * Reads the members of an opened folder in the order of the disk, in batches: however large the folder, no more than one
 * batch is in memory.
 *
 * @param folder stays open until the generator ends; closing it is the caller's
 * @throws ServiceError when the folder cannot be read
 */
export async function* readFolder(folder: OpenedFolder, roots: RealRoots, options: FolderReaderOptions): AsyncGenerator<Entry[]> {
  const { virtualEntries, onUnreadableName, nowMs } = options;
  const virtual = new Set(virtualEntries.map((entry) => entry.name));
  const directory = opened(() => opendirSync(folder.member('.'), { bufferSize: batchEntries }));
  try {
    yield [...virtualEntries];
    for (;;) {
      const names: string[] = [];
      while (names.length < batchEntries) {
        const name = opened(() => directory.readSync())?.name;
        if (name === undefined) break;
        if (isTemporaryName(name)) removeAbandoned(folder.member(name), nowMs);
        if (!virtual.has(name) && !isHiddenName(name)) names.push(name);
      }
      if (names.length > 0) yield entriesIn(folder, roots, names, onUnreadableName);
      if (names.length < batchEntries) return;
      await new Promise(setImmediate);
    }
  } finally {
    directory.closeSync();
  }
}

function opened<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw asServiceError(error);
  }
}

function entriesIn(folder: OpenedFolder, roots: RealRoots, names: readonly string[], onUnreadableName: (name: string) => void): Entry[] {
  return folder.inside((pathOf) => {
    const entries: Entry[] = [];
    for (const name of names) {
      const entry = entryIn(folder, roots, name, pathOf(name));
      if (entry) entries.push(entry);
      else if (name.includes('\ufffd')) onUnreadableName(name);
    }
    return entries;
  });
}

function entryIn(folder: OpenedFolder, roots: RealRoots, name: string, path: string): Entry | undefined {
  try {
    const stats = lstatSync(path);
    if (stats.isFile() || stats.isDirectory())
      return reachable(folder, roots, name, stats.isDirectory()) ? entryOf(name, stats) : undefined;
    if (!stats.isSymbolicLink()) return undefined;
    const target = lookAt(roots, `${folder.realPath}/${name}`);
    return target && { ...entryOf(name, target.stats), isLink: true };
  } catch (error) {
    // Removed since the folder was read, or not permitted: not shown.
    if (systemErrorCode(error) === 'ENOENT' || ['forbidden', 'in-use'].includes(asServiceError(error).code)) return undefined;
    throw asServiceError(error);
  }
}

function reachable(folder: OpenedFolder, roots: RealRoots, name: string, isFolder: boolean): boolean {
  // Only folders can be excluded (the data folder), so files cost no second look.
  return !isFolder || roots.contains(`${folder.realPath}/${name}`);
}
