import { lstatSync, opendirSync, readdir } from 'node:fs';
import { promisify } from 'node:util';
import { systemErrorCode } from '../../lib/errors.ts';
import { lookAt, type OpenedFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { isHiddenName, isTemporaryName, removeAbandoned } from '../disk/temporaries.ts';
import { type Entry, entryOf } from '../entry.ts';

const readdirAsync = promisify(readdir) as (path: string) => Promise<string[]>;

/**
 * Entries looked at in one turn; between two batches other requests run. One lstat costs about 2 µs
 * (docs/operate/performance.md#costs-that-shaped-the-code).
 */
const batchEntries = 256;

/** Orders names by code point, which UTF-16 order is not for characters beyond the basic plane. */
export function compareNames(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let index = 0; index < shorter; index++) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA !== unitB) return codePointRank(unitA) - codePointRank(unitB);
  }
  return a.length - b.length;
}

// Surrogates stand for code points above all of the basic plane.
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

// The sort of the language itself, by UTF-16 code units, is three times as fast, and the same order for all but rare names.
function sortNames(names: string[]): void {
  if (names.some((name) => /[\ud800-\udfff]/.test(name))) names.sort(compareNames);
  else names.sort();
}

export interface FolderReaderOptions {
  /** Names that virtual folders give to this folder; they hide real entries. */
  virtualEntries: readonly Entry[];
  /** Told of a name on disk that is not valid UTF-8 and so cannot be addressed. */
  onUnreadableName: (name: string) => void;
  /** Unix time in milliseconds, by which temporary files of nodes that are gone are removed; undefined leaves them. */
  nowMs?: number;
}

/**
 * Reads the members of an opened folder, by name in code point order, in batches.
 *
 * @param folder stays open until the generator ends; closing it is the caller's
 * @throws ServiceError when the folder cannot be read
 */
export async function* readFolder(folder: OpenedFolder, roots: RealRoots, options: FolderReaderOptions): AsyncGenerator<Entry[]> {
  let names: string[];
  try {
    names = await readdirAsync(folder.member('.'));
  } catch (error) {
    throw asServiceError(error);
  }
  if (options.nowMs !== undefined) for (const name of names.filter(isTemporaryName)) removeAbandoned(folder.member(name), options.nowMs);
  const virtual = new Map(options.virtualEntries.map((entry) => [entry.name, entry]));
  names = names.filter((name) => !virtual.has(name) && !isHiddenName(name));
  names.push(...virtual.keys());
  sortNames(names);
  for (let start = 0; start < names.length; start += batchEntries) {
    if (start > 0) await new Promise(setImmediate);
    yield entriesIn(folder, roots, names.slice(start, start + batchEntries), options.onUnreadableName, virtual);
  }
}

/**
 * Reads the members of an opened folder in the order of the disk, in batches: however large the folder, no more than one
 * batch is in memory.
 *
 * @param folder stays open until the generator ends; closing it is the caller's
 * @throws ServiceError when the folder cannot be read
 */
export async function* readFolderUnordered(folder: OpenedFolder, roots: RealRoots, options: FolderReaderOptions): AsyncGenerator<Entry[]> {
  const hidden = new Set(options.virtualEntries.map((entry) => entry.name));
  const directory = opened(() => opendirSync(folder.member('.'), { bufferSize: batchEntries }));
  try {
    yield [...options.virtualEntries];
    for (;;) {
      const names: string[] = [];
      while (names.length < batchEntries) {
        const name = opened(() => directory.readSync())?.name;
        if (name === undefined) break;
        if (!hidden.has(name) && !isHiddenName(name)) names.push(name);
      }
      if (names.length > 0) yield entriesIn(folder, roots, names, options.onUnreadableName);
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

/** What is known of names in a folder; `known` are those that need no look at the disk. */
function entriesIn(
  folder: OpenedFolder,
  roots: RealRoots,
  names: readonly string[],
  onUnreadableName: (name: string) => void,
  known?: ReadonlyMap<string, Entry>,
): Entry[] {
  return folder.inside((pathOf) => {
    const entries: Entry[] = [];
    for (const name of names) {
      const entry = known?.get(name) ?? entryIn(folder, roots, name, pathOf(name));
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
