import { fstatSync, lstatSync, opendirSync, readdir } from 'node:fs';
import { promisify } from 'node:util';
import { systemErrorCode } from '../../lib/errors.ts';
import { lookAt, type OpenedFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { isHiddenName, isTemporaryName, removeAbandoned } from '../disk/temporaries.ts';
import { compareNames, type Entry, entryOf } from '../entry.ts';

/**
 * Entries looked at in one turn; between two batches other requests run. One lstat costs about 2 µs
 * (docs/design/costs.md).
 */
const batchEntries = 256;

/** Names that are read before any of them is looked at, where a folder is very large. */
const blockNames = 8192;

/** Size of a folder whose names are read at once: a hundred thousand short ones, as most file systems count it. */
const readWholeBytes = 4 * 1024 * 1024;

const readdirAsync = promisify(readdir) as (path: string) => Promise<string[]>;

export interface FolderReaderOptions {
  /** Names that virtual folders give to this folder; they hide real entries. */
  virtualEntries: readonly Entry[];
  /** Told of a name on disk that is not valid UTF-8 and so cannot be addressed. */
  onUnreadableName: (name: string) => void;
  /** Unix time in milliseconds, by which temporary files of nodes that are gone are removed. */
  nowMs: number;
}

/**
 * Reads the members of an opened folder in batches, by name in blocks: one block in all but very large folders, so that no more than some
 * thousand names are in memory.
 *
 * @param folder stays open until the generator ends; closing it is the caller's
 * @throws ServiceError when the folder cannot be read
 */
export async function* readFolder(folder: OpenedFolder, roots: RealRoots, options: FolderReaderOptions): AsyncGenerator<Entry[]> {
  const { virtualEntries, onUnreadableName, nowMs } = options;
  const virtual = new Set(virtualEntries.map((entry) => entry.name));
  yield [...virtualEntries];
  for await (const block of nameBlocks(folder)) {
    for (const name of block.filter(isTemporaryName)) removeAbandoned(folder.member(name), nowMs);
    const names = block.filter((name) => !virtual.has(name) && !isHiddenName(name));
    sortNames(names);
    for (let start = 0; start < names.length; start += batchEntries) {
      if (start > 0) await new Promise(setImmediate);
      yield entriesIn(folder, roots, names.slice(start, start + batchEntries), onUnreadableName);
    }
  }
}

/** Whether the members of an opened folder are given in one block. @throws ServiceError when the system does not tell its size */
export function isReadWhole(folder: OpenedFolder): boolean {
  return opened(() => fstatSync(folder.fd).size) <= readWholeBytes;
}

/** To read all names at once takes a fifth of the time, but memory for each. */
async function* nameBlocks(folder: OpenedFolder): AsyncGenerator<string[]> {
  if (isReadWhole(folder)) {
    yield await readdirAsync(folder.member('.')).catch((error) => Promise.reject(asServiceError(error)));
    return;
  }
  const directory = opened(() => opendirSync(folder.member('.'), { bufferSize: batchEntries }));
  try {
    for (let names: string[] = []; ; ) {
      const name = opened(() => directory.readSync())?.name;
      if (name !== undefined) names.push(name);
      if (name === undefined || names.length === blockNames) {
        yield names;
        names = [];
      }
      if (name === undefined) return;
    }
  } finally {
    directory.closeSync();
  }
}

// By UTF-16 code units a sort needs no comparison of ours, which makes it many times as fast, and the same order for all but rare names.
function sortNames(names: string[]): void {
  if (names.some((name) => /[\ud800-\udfff]/.test(name))) names.sort(compareNames);
  else names.sort();
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
