import { linkSync, renameSync, type Stats } from 'node:fs';
import type { EventContext } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { isServiceError, ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { isWithin, type VirtualPath } from '../../lib/virtual-path.ts';
import { type AccountPaths, pathData } from '../account-paths.ts';
import type { Durability } from '../disk/folder-sync.ts';
import { folderMoved, type OpenedFolder } from '../disk/opened.ts';
import { asServiceError } from '../disk/system-errors.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { copyTree } from '../operations/tree-copy.ts';
import { type KeptContent, type QuotaReservation, treeBytes } from '../quota.ts';
import { uploadEventUuid } from '../uploads/end-upload.ts';
import { type EndReason, newTrashId, removeIfThere, type Trashed, TrashFolder } from './trash-folder.ts';

export interface InTrash {
  folder: TrashFolder;
  trashed: Trashed;
}

/** Whether files that the account deletes or replaces go to its trash. */
export function hasTrash({ account }: Pick<AccountPaths, 'account'>): boolean {
  return account.trashDays > 0;
}

/** Opens the trash of the root that contains a path. @param realPath real path with the symbolic links of its folder resolved */
export async function trashFor({ account, mounts, environment }: AccountPaths, realPath: string): Promise<TrashFolder> {
  const root = mounts.accountRoots.paths.filter((path) => isWithin(realPath, path)).sort((a, b) => b.length - a.length)[0];
  if (root === undefined) throw new ServiceError('not-found', 'Path not found.');
  const folder = await TrashFolder.make(mounts.accountRoots, root, account.uuid);
  try {
    const known = { root, mount: mounts.virtualRoot(root), accountUuid: account.uuid, account: account.name };
    const kept = { ...known, group: account.groupUuid, days: account.trashDays };
    await environment.trashes.add(kept);
    return folder;
  } catch (error) {
    folder.close();
    throw error;
  }
}

/** Writes the record of a new item. @returns its ID */
export async function writeRecord(
  { environment, context }: AccountPaths,
  folder: TrashFolder,
  about: Pick<Trashed, 'path' | 'realPath' | 'sizeBytes' | 'isFolder' | 'isReplaced'>,
): Promise<string> {
  const { request: _, ...origin } = context;
  const id = newTrashId();
  await folder.record({ id, ...about, deletedMs: environment.clock.nowMs(), origin });
  return id;
}

/**
 * Returns the current paths of a member of an opened folder. They differ from the former paths if the folder was moved.
 *
 * @param path virtual path of the member when the folder was opened
 */
export function currentPlace(
  { mounts }: AccountPaths,
  folder: OpenedFolder,
  name: string,
  path: VirtualPath,
): Pick<Trashed, 'path' | 'realPath'> {
  const realPath = `${folder.currentPath()}/${name}`;
  return { realPath, path: realPath === `${folder.realPath}/${name}` ? path : (mounts.virtualPathsOf(realPath)[0] ?? path) };
}

/** Size of a file, or of all files in a folder, in bytes. */
export async function measureSize(
  { mounts }: AccountPaths,
  realPath: string,
  stats: Pick<Stats, 'isDirectory' | 'isFile' | 'size'>,
): Promise<number> {
  if (stats.isDirectory()) return treeBytes(mounts.roots, realPath);
  return stats.isFile() ? stats.size : 0;
}

/** Keeps a file or folder in the trash because it is about to be replaced. The caller calls `settle` or `undo` at the end. */
export interface KeptReplaced {
  /** Puts the file or folder into the trash. Called just before it is replaced. */
  take(): void;
  /** Takes the file or folder out of the trash again: moves it back to its place, or removes its second hard link or copy. */
  undo(): void;
  /** Syncs the trash. Never rejects. */
  settle(durability: Durability): Promise<void>;
}

/**
 * Prepares to keep a file or folder that is about to be replaced. On a full disk, resolves with undefined, and nothing is kept.
 *
 * @param mustGo whether a file, too, is moved into the trash instead of getting a second hard link. Needed if a folder replaces the file
 */
export type Keep = (parent: OpenedFolder, name: string, existing: Stats, mustGo?: boolean) => Promise<KeptReplaced | undefined>;

/**
 * Creates a function that keeps a replaced file or folder in the trash. A file gets a second hard link (or is copied, if no link can be
 * made), so that the name of the file changes from the old to the new content in one step. A folder is renamed.
 *
 * @returns undefined for an account without a trash
 */
export function keepReplaced(paths: AccountPaths, path: VirtualPath): Keep | undefined {
  if (!hasTrash(paths)) return undefined;
  const prepare = async (parent: OpenedFolder, name: string, existing: Stats, mustGo: boolean): Promise<KeptReplaced> => {
    const { roots } = paths.mounts;
    const opened = `${parent.realPath}/${name}`;
    const isFolder = existing.isDirectory();
    const goes = isFolder || mustGo;
    const sizeBytes = await measureSize(paths, opened, existing);
    const folder = await trashFor(paths, opened);
    const place = currentPlace(paths, parent, name, path);
    const isMoved = () => `${parent.currentPath()}/${name}` !== place.realPath;
    const { temporaries } = paths.environment;
    let temporary: string | undefined;
    let id: string | undefined;
    const dropTemporary = () => {
      if (temporary === undefined) return;
      removeIfThere(folder.member(temporary));
      temporaries.giveBack(folder.opened.realPath, temporary);
      temporary = undefined;
    };
    let isTaken = false;
    const undo = () => {
      try {
        if (isTaken && id !== undefined) {
          // If the parent was moved meanwhile, inspections have judged that move without this item. So the item stays in the trash.
          if (goes && isMoved()) return;
          if (goes) renameSync(folder.member(id), parent.member(name));
          else removeIfThere(folder.member(id));
        }
        dropTemporary();
        if (id !== undefined) folder.forget(id);
      } finally {
        folder.close();
      }
    };
    try {
      if (!goes) {
        temporary = temporaries.take(folder.opened.realPath);
        try {
          linkSync(parent.member(name), folder.member(temporary));
        } catch {
          // The trash is on another file system, or the file system has no hard links.
          await copyTree(roots, parent, name, folder.member(temporary));
        }
        if (isMoved()) throw folderMoved();
      }
      id = await writeRecord(paths, folder, { ...place, sizeBytes, isFolder, isReplaced: true });
    } catch (error) {
      undo();
      throw error;
    }
    const [from, to] = [temporary === undefined ? parent.member(name) : folder.member(temporary), folder.member(id)];
    return {
      take() {
        if (goes && isMoved()) throw folderMoved();
        try {
          renameSync(from, to);
        } catch (error) {
          if (systemErrorCode(error) !== 'EXDEV') throw error;
          throw new ServiceError('never-allowed', 'The folder is on another file system than the trash; delete it first.', {
            cause: error,
          });
        }
        isTaken = true;
        if (goes && id !== undefined && isMoved()) folder.correct(id, currentPlace(paths, parent, name, path));
        if (temporary !== undefined) temporaries.giveBack(folder.opened.realPath, temporary);
        temporary = undefined;
      },
      undo,
      async settle(durability) {
        await durability.syncFolder(folder.opened.fd);
        folder.close();
      },
    };
  };
  return (parent, name, existing, mustGo = false) => ifRoom(paths, () => prepare(parent, name, existing, mustGo));
}

/** Calls `put`. If the disk is full, deletes the oldest item of the trash and tries again. @returns undefined if no item is left */
export async function ifRoom<T>(paths: AccountPaths, put: () => Promise<T>): Promise<T | undefined> {
  for (;;) {
    try {
      return await put();
    } catch (error) {
      if (!isServiceError(asServiceError(error), 'storage-full')) throw error;
      const isEnded = await withTrash(paths, async (all) => {
        const oldest = all.at(-1);
        return oldest !== undefined && (await endTrashed(paths.environment, oldest, 'quota', paths.context));
      });
      if (!isEnded) return undefined;
    }
  }
}

/**
 * Replaces a file whose old content is kept in the trash. If the quota has no room for both, the file is replaced, and the old content is
 * not kept.
 */
export async function whileKept<T>(
  kept: KeptReplaced,
  put: (kept: KeptReplaced | undefined) => Promise<T>,
): Promise<T & { kept: KeptReplaced | undefined }> {
  try {
    return { ...(await put(kept)), kept };
  } catch (error) {
    kept.undo();
    if (!isServiceError(error, 'storage-full')) throw error;
    return { ...(await put(undefined)), kept: undefined };
  }
}

/** Runs an action with all items in the trashes of the account's roots, newest first. */
export async function withTrash<T>({ mounts, account }: AccountPaths, action: (all: InTrash[]) => Promise<T>): Promise<T> {
  const folders: TrashFolder[] = [];
  try {
    const all: InTrash[] = [];
    for (const root of mounts.accountRoots.paths) {
      const folder = TrashFolder.open(mounts.accountRoots, root, account.uuid);
      if (!folder) continue;
      folders.push(folder);
      for (const trashed of await folder.list()) all.push({ folder, trashed });
    }
    return await action(all.sort((a, b) => b.trashed.deletedMs - a.trashed.deletedMs));
  } finally {
    for (const folder of folders) folder.close();
  }
}

/** Runs an action with one item in the account's trash. @throws ServiceError `not-found`, also for items of other accounts */
export async function withTrashed<T>(
  { mounts, account }: AccountPaths,
  id: string,
  action: (folder: TrashFolder, trashed: Trashed) => Promise<T>,
): Promise<T> {
  for (const root of mounts.accountRoots.paths) {
    const folder = TrashFolder.open(mounts.accountRoots, root, account.uuid);
    try {
      const trashed = folder?.find(id);
      if (folder && trashed) return await action(folder, trashed);
    } finally {
      folder?.close();
    }
  }
  throw new ServiceError('not-found', 'The item is not in the trash.');
}

/**
 * Permanently deletes an item. Emits `trashEnded`, which is on disk before the content is removed.
 *
 * @param context context of the event; by default the context in which the item was put into the trash
 * @param administrator name of the administrator who deletes the item, for the event
 * @returns false if the item was restored or deleted meanwhile
 */
export async function endTrashed(
  { events }: Pick<FilesEnvironment, 'events'>,
  { folder, trashed }: InTrash,
  reason: EndReason,
  context?: EventContext,
  administrator?: string,
): Promise<boolean> {
  events.assertWritable();
  if (!folder.claim(trashed.id, reason)) return false;
  await events.emitDurable(endedDraft(trashed, reason, context, administrator));
  await folder.removeClaimed(trashed.id, reason).catch((error) => {
    // For a person, the item is gone: `TrashUpkeep` removes its content later. Other callers get the error: they need the space now, or
    // repeat the removal later.
    if (reason !== 'person') throw error;
  });
  return true;
}

/** The event of a permanent deletion. Its UUID is derived from the item's ID, so that a repetition after a crash emits the same event. */
export function endedDraft(
  { id, path, realPath, isFolder, sizeBytes, origin }: Trashed,
  reason: EndReason,
  context = origin,
  administrator?: string,
) {
  const data = { ...pathData(path, realPath), reason, is_directory: isFolder, size: sizeBytes, administrator };
  return { id: eventIds.trashEnded, context, data, uuid: uploadEventUuid(id, eventIds.trashEnded) };
}

/**
 * Reserves room for an upload under the quota of the account. If the upload does not fit, the oldest items of the trash are deleted, but
 * only if the whole trash is large enough to make room for the upload.
 *
 * @param replacedBytes size of the file that the upload will replace
 * @throws ServiceError `storage-full`
 */
export function reserveRoom(
  paths: AccountPaths,
  replacedBytes: number,
  neededBytes: number,
  kept?: KeptContent,
): Promise<QuotaReservation> {
  const { environment, mounts, account, context } = paths;
  const makeRoom = (missingBytes: number) =>
    withTrash(paths, async (all) => {
      if (all.reduce((sum, { trashed }) => sum + trashed.sizeBytes, 0) < missingBytes) return false;
      let freedBytes = 0;
      for (const item of all.reverse()) {
        if (freedBytes >= missingBytes) break;
        if (await endTrashed(environment, item, 'quota', context)) freedBytes += item.trashed.sizeBytes;
      }
      return freedBytes > 0;
    });
  return environment.quotas.reserve(mounts.accountRoots, account.quotaSizeBytes, replacedBytes, neededBytes, kept, makeRoom);
}
