import { fstatSync, lstatSync, opendirSync, readdir } from 'node:fs';
import { promisify } from 'node:util';
import { eventIds } from '../../events/event-ids.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import { memberPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { inspect, type OpenedFolder, openFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { isHiddenName, isTemporaryName, removeAbandoned } from '../disk/temporaries.ts';
import { compareNames, type Entry, toEntry } from '../entry.ts';
import { neededRights } from '../needed-rights.ts';

/** Entries looked at in one turn; between two batches other requests run. One lstat costs about 2 µs (docs/design/costs.md). */
const batchEntries = 256;

/** Names that are read before any of them is looked at, where a folder is very large. */
const blockNames = 8192;

/** Size of a folder whose names are read at once: a hundred thousand short ones, as most file systems count it. */
const readWholeBytes = 4 * 1024 * 1024;

const readdirAsync = promisify(readdir) as (path: string) => Promise<string[]>;

interface FolderReaderOptions {
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
async function* readFolder(folder: OpenedFolder, roots: RealRoots, options: FolderReaderOptions): AsyncGenerator<Entry[]> {
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
function isReadWhole(folder: OpenedFolder): boolean {
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
      return reachable(folder, roots, name, stats.isDirectory()) ? toEntry(name, stats) : undefined;
    if (!stats.isSymbolicLink()) return undefined;
    const target = inspect(roots, `${folder.realPath}/${name}`);
    return target && { ...toEntry(name, target.stats), isLink: true };
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

/** Members of a folder in batches. */
export interface EntryBatches extends AsyncIterable<Entry[]> {
  /** Whether they follow each other by name. */
  readonly isByName: boolean;
}

/**
 * The members of a folder, virtual ones first, then by name in blocks (`readFolder`); with `traverse` alone only sub-folders.
 *
 * @param onUnreadableName told of each name that is left out as it is not UTF-8, besides event `nameNotUtf8`
 * @throws ServiceError `forbidden` without `list` or `traverse`, `not-found`
 */
export function accountListing(paths: AccountPaths, path: VirtualPath, onUnreadableName?: () => void): EntryBatches {
  paths.require(path, 'listFolder');
  const foldersOnly = !paths.account.permissions.allowsAny(path, neededRights.listWholeFolder);
  const virtual = paths.mounts.virtualMembers(path).flatMap((name) => paths.entryAt(memberPath(path, name)) ?? []);
  const location = paths.mounts.locate(path);
  const batches =
    location.kind === 'virtual' ? onlyBatch(virtual) : readBatches(paths, path, paths.real(location), virtual, onUnreadableName);
  return foldersOnly ? onlyFolders(batches) : batches;
}

// The folder is opened here, so that what cannot be listed is refused before anything is sent.
function readBatches(
  paths: AccountPaths,
  path: VirtualPath,
  realPath: string,
  virtualEntries: Entry[],
  tell: (() => void) | undefined,
): EntryBatches {
  const { roots } = paths.mounts;
  const folder = openFolder(roots, realPath);
  const nowMs = paths.environment.clock.nowMs();
  const onUnreadableName = (name: string) => {
    paths.emit(eventIds.nameNotUtf8, path, { details: name });
    tell?.();
  };
  const batches = (async function* () {
    try {
      yield* readFolder(folder, roots, { virtualEntries, onUnreadableName, nowMs });
    } finally {
      folder.close();
    }
  })();
  return Object.assign(batches, { isByName: virtualEntries.length === 0 && isReadWhole(folder) });
}

function onlyBatch(entries: Entry[]): EntryBatches {
  const batches = (async function* () {
    yield entries;
  })();
  return Object.assign(batches, { isByName: entries.length < 2 });
}

function onlyFolders(batches: EntryBatches): EntryBatches {
  const folders = (async function* () {
    for await (const batch of batches) yield batch.filter((entry) => entry.isFolder);
  })();
  return Object.assign(folders, { isByName: batches.isByName });
}
