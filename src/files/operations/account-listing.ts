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

/** Number of entries in a batch. Other requests run between two batches. One lstat(2) costs about 2 µs (docs/design/costs.md). */
const batchEntries = 256;

/** Number of names in one block of a very large folder. */
const blockNames = 8192;

/** If the list of names in a folder takes at most this space on disk (enough for about 100,000 short names), it is read in one block. */
const readWholeBytes = 4 * 1024 * 1024;

const readdirAsync = promisify(readdir) as (path: string) => Promise<string[]>;

/** The members of a folder, in batches. */
export interface EntryBatches extends AsyncIterable<Entry[]> {
  /** Whether all members are sorted by name. */
  readonly isByName: boolean;
}

/**
 * The members of a folder, virtual folders first. The other members follow in blocks, each sorted by name. A very large folder is read in
 * several blocks, so that its names are never all in memory; any other folder is one block. An account that only has `traverse` sees only
 * sub-folders.
 *
 * @param onUnreadableName called for each name that is omitted because it is not UTF-8, in addition to event `nameNotUtf8`
 * @param arrange puts the names of a block, which are sorted, into another order
 * @throws ServiceError `forbidden` with neither `list` nor `traverse`; `not-found`
 */
export function accountListing(
  paths: AccountPaths,
  path: VirtualPath,
  onUnreadableName?: () => void,
  arrange?: (names: readonly string[]) => Promise<readonly string[]>,
): EntryBatches {
  paths.require(path, 'listFolder');
  const { mounts, account } = paths;
  const foldersOnly = !account.permissions.allowsAny(path, neededRights.listWholeFolder);
  const virtual = mounts.virtualMembers(path).flatMap((name) => paths.entryAt(memberPath(path, name)) ?? []);
  const location = mounts.locate(path);
  // The folder is opened here, so that a folder that cannot be listed is refused before the reply begins.
  const folder = location.kind === 'virtual' ? undefined : openFolder(mounts.roots, paths.real(location));
  const isByName = folder ? virtual.length === 0 && isReadWhole(folder) : virtual.length < 2;
  const onUnreadable = (name: string) => {
    paths.emit(eventIds.nameNotUtf8, path, { details: name });
    onUnreadableName?.();
  };
  const batches = (async function* () {
    try {
      yield virtual.filter((entry) => entry.isFolder || !foldersOnly);
      if (!folder) return;
      for await (const batch of readFolder(folder, paths, new Set(virtual.map(({ name }) => name)), onUnreadable, arrange))
        yield foldersOnly ? batch.filter((entry) => entry.isFolder) : batch;
    } finally {
      folder?.close();
    }
  })();
  return Object.assign(batches, { isByName });
}

/**
 * Reads a folder, and removes temporary files that were left by nodes that no longer run.
 *
 * @param hidden names of virtual folders; they hide real entries
 */
async function* readFolder(
  folder: OpenedFolder,
  { mounts, environment }: AccountPaths,
  hidden: ReadonlySet<string>,
  onUnreadableName: (name: string) => void,
  arrange: (names: readonly string[]) => Promise<readonly string[]> = async (names) => names,
): AsyncGenerator<Entry[]> {
  const nowMs = environment.clock.nowMs();
  for await (const block of nameBlocks(folder)) {
    for (const name of block.filter(isTemporaryName)) removeAbandoned(folder.member(name), nowMs);
    const known = block.filter((name) => !hidden.has(name) && !isHiddenName(name));
    sortNames(known);
    const names = await arrange(known);
    for (let start = 0; start < names.length; start += batchEntries) {
      if (start > 0) await new Promise(setImmediate);
      yield entriesIn(folder, mounts.roots, names.slice(start, start + batchEntries), onUnreadableName);
    }
  }
}

/** Whether the members of an opened folder are read in one block. @throws ServiceError when its size cannot be read */
function isReadWhole(folder: OpenedFolder): boolean {
  return opened(() => fstatSync(folder.fd).size) <= readWholeBytes;
}

// Reading all names with one call takes a fifth of the time, but needs memory for each name.
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

// The built-in order by UTF-16 code units is many times faster. It differs only for names with characters beyond the basic plane.
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
    // Entries that were removed meanwhile, or that the service may not access, are not shown.
    if (systemErrorCode(error) === 'ENOENT' || ['forbidden', 'in-use'].includes(asServiceError(error).code)) return undefined;
    throw asServiceError(error);
  }
}

function reachable(folder: OpenedFolder, roots: RealRoots, name: string, isFolder: boolean): boolean {
  // The roots exclude only one path inside them: the data folder. No file can be at that path, so only folders need a check.
  return !isFolder || roots.contains(`${folder.realPath}/${name}`);
}
