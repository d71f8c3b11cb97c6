import { eventIds } from '../../events/event-ids.ts';
import { memberPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { openFolder } from '../disk/opened.ts';
import type { Entry } from '../entry.ts';
import { neededRights } from '../needed-rights.ts';
import { isReadWhole, readFolder } from './folder-reader.ts';

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
