import { lstatSync } from 'node:fs';
import { basename } from 'node:path';
import { eventIds } from '../../events/event-ids.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { Durability } from '../disk/folder-sync.ts';
import { FollowedFolder, openParent } from '../disk/opened.ts';
import { resolveParent } from '../disk/real-roots.ts';
import { trashName } from '../disk/temporaries.ts';
import type { Entry } from '../entry.ts';
import { currentPlace, hasTrash, ifRoom, measureSize, trashFor, writeRecord } from '../trash/trash.ts';
import type { TrashFolder } from '../trash/trash-folder.ts';
import { endUploadsBelow } from '../uploads/end-upload.ts';
import { checkUnused, type LeftBehind, removeFile, removeTree, removeUnusedFolder } from './folder-remover.ts';
import { type Move, relocate } from './relocate.ts';

/**
 * Deletes a file. Emits `fileRemoved` or `fileRemovalFailed`.
 *
 * @param verify called with the current entry just before the file is removed. If it throws, the file remains
 */
export async function deleteFile(paths: AccountPaths, path: VirtualPath, verify?: (current: Entry) => void): Promise<void> {
  const { environment, mounts } = paths;
  const durability = new Durability();
  const trashed = await paths.orReportAsync(eventIds.fileRemovalFailed, path, async () => {
    const realPath = await removablePath(paths, path, 'deleteFile');
    if (hasTrash(paths)) {
      const check = (current: Entry) => {
        verify?.(current);
        if (current.isFolder) throw new ServiceError('is-folder', 'The path is a folder.');
        environment.retention.requireFree(realPath);
      };
      const entry = paths.entryAt(path);
      if (!entry) throw new ServiceError('not-found', 'Path not found.');
      check(entry);
      if (await moveToTrash(paths, { path, realPath, entry }, durability, check)) return true;
    }
    await environment.pathMutex.runExclusive([resolveParent(realPath)], async () => {
      const current = paths.entryAt(path);
      if (current) verify?.(current);
      if (current?.isFolder) throw new ServiceError('is-folder', 'The path is a folder.');
      if (!current) throw new ServiceError('not-found', 'Path not found.');
      environment.retention.requireFree(realPath);
      await removeFile(mounts.roots, realPath, durability);
    });
    return undefined;
  });
  await paths.forgetLocks(path);
  environment.quotas.usage(mounts.accountRoots).removed();
  await paths.emitDurable(eventIds.fileRemoved, path, { trashed }, durability);
}

/**
 * Deletes a folder that is empty or contains only unfinished uploads. Ends these uploads. Emits `folderRemoved` or `folderRemovalFailed`.
 *
 * @throws ServiceError `not-empty`, `exists` for a file
 */
export function deleteEmptyFolder(paths: AccountPaths, path: VirtualPath): Promise<void> {
  return whileFollowed((followed) => deleteEmpty(paths, path, followed));
}

async function deleteEmpty(paths: AccountPaths, path: VirtualPath, followed: FollowedFolder): Promise<void> {
  const { roots } = paths.mounts;
  const durability = new Durability();
  const removed = await paths.orReportAsync(eventIds.folderRemovalFailed, path, async () => {
    const realPath = await removablePath(paths, path, 'deleteFolder');
    const before = resolveParent(realPath);
    const current = paths.entryAt(path);
    if (!current) throw new ServiceError('not-found', 'Path not found.');
    if (!current.isFolder) throw new ServiceError('exists', 'A file has this name.');
    if (hasTrash(paths)) {
      if (!current.isLink) checkUnused(roots, realPath);
      const inTrash = await moveToTrash(paths, { path, realPath, entry: current, followed }, durability);
      if (inTrash !== undefined) return { realPath: before, inTrash };
    }
    if (current.isLink) await removeFile(roots, realPath, durability);
    else await removeUnusedFolder(roots, realPath, durability);
    return { realPath: before };
  });
  await emitRemoved(paths, path, removed, followed, durability);
}

/** The former and the current place of a removed folder. */
interface Removed {
  /** Former real path, with the symbolic links in the path of its folder resolved. */
  realPath: string;
  /** Real path in the trash, if the folder was put there. */
  inTrash?: string | undefined;
}

/** @param followed follows the folder, which another request may already have restored from the trash */
async function emitRemoved(
  paths: AccountPaths,
  path: VirtualPath,
  { realPath, inTrash }: Removed,
  followed: FollowedFolder,
  durability: Durability,
): Promise<void> {
  await paths.forgetLocks(path);
  try {
    await paths.emitDurable(eventIds.folderRemoved, path, { trashed: inTrash === undefined ? undefined : true }, durability);
  } finally {
    await endUploadsBelow(paths, realPath, { isGone: true, contentIn: () => inTrash && (followed.path ?? inTrash) });
  }
}

/** Options for deleting a folder. */
export interface FolderDeletion {
  /** Called with the current entry just before the first removal. If it throws, the folder remains. */
  verify?: ((current: Entry) => void) | undefined;
  /** Stops the deletion when aborted. The reason of the abort is a `ServiceError`. */
  stop?: AbortSignal | undefined;
}

/**
 * Deletes a folder with all its members. Emits `folderRemoved` or `folderRemovalFailed`. The permissions for all members are checked
 * before the first removal; an empty folder needs only `delete-folder`.
 *
 * @returns members that could not be removed; empty if the folder was removed completely
 * @throws ServiceError the reason of `stop`, if a part of the folder remains
 */
export function deleteFolder(paths: AccountPaths, path: VirtualPath, deletion: FolderDeletion): Promise<LeftBehind[]> {
  return whileFollowed((followed) => deleteTree(paths, path, deletion, followed));
}

async function deleteTree(
  paths: AccountPaths,
  path: VirtualPath,
  { verify, stop }: FolderDeletion,
  followed: FollowedFolder,
): Promise<LeftBehind[]> {
  const { environment, mounts } = paths;
  const durability = new Durability();
  let left: LeftBehind[] = [];
  let removed: Removed;
  try {
    const realPath = await removablePath(paths, path, 'deleteFolder');
    removed = { realPath: resolveParent(realPath) };
    const current = paths.entryAt(path);
    if (!current?.isFolder) throw new ServiceError('not-found', 'Path not found.');
    verify?.(current);
    const folders = await paths.deletableFolders(path, realPath, current);
    if (hasTrash(paths)) removed.inTrash = await moveToTrash(paths, { path, realPath, entry: current, followed }, durability, verify);
    const isThere = removed.inTrash === undefined;
    if (isThere) left = await removeTree(mounts.roots, realPath, folders, durability, { temporaries: environment.temporaries, stop });
    if (current.isLink && isThere) await removeFile(mounts.roots, realPath, durability);
  } catch (error) {
    throw paths.reported(eventIds.folderRemovalFailed, path, error);
  } finally {
    environment.quotas.usage(mounts.accountRoots).removed();
  }
  if (left.length === 0) {
    await emitRemoved(paths, path, removed, followed, durability);
    return left;
  }
  if (durability.fault !== undefined) paths.notDurable(durability.fault, path);
  const details = left.map((item) => `${item.relativePath}: ${item.message}`).slice(0, 100);
  await paths.emitDurable(eventIds.folderRemovalFailed, path, { details });
  return left;
}

async function whileFollowed<T>(action: (followed: FollowedFolder) => Promise<T>): Promise<T> {
  const followed = new FollowedFolder();
  try {
    return await action(followed);
  } finally {
    followed.close();
  }
}

async function removablePath(paths: AccountPaths, path: VirtualPath, operation: 'deleteFile' | 'deleteFolder'): Promise<string> {
  paths.require(path, operation);
  const realPath = paths.removable(path);
  await paths.requireUnlocked(path, 'tree');
  return realPath;
}

/**
 * Moves a file or a folder into the trash. The caller checks rights and locks.
 *
 * @param realPath absolute path; symbolic links are not resolved
 * @param verify called with the current entry just before the rename. If it throws, the file or folder stays
 * @returns the real path in the trash; undefined if the disk is too full
 * @throws ServiceError `fixed-folder` for a folder that contains a root or the data folder, `not-found`
 */
async function moveToTrash(
  paths: AccountPaths,
  { path, realPath, entry, followed }: { path: VirtualPath; realPath: string; entry: Entry; followed?: FollowedFolder },
  durability: Durability,
  verify: (current: Entry) => void = () => {},
): Promise<string | undefined> {
  const { roots } = paths.mounts;
  const parent = openParent(roots, realPath);
  const name = basename(realPath);
  const source = { folder: parent, name, realPath: `${parent.realPath}/${name}` };
  let folder: TrashFolder | undefined;
  const endMove = paths.environment.quotas.usage(paths.mounts.accountRoots).beginMove();
  try {
    const stats = lstatSync(parent.member(name), { throwIfNoEntry: false });
    if (!stats) throw new ServiceError('not-found', 'Path not found.');
    if (stats.isDirectory() && paths.mounts.accountRoots.isHeldBy(source.realPath))
      throw new ServiceError('fixed-folder', 'A folder that contains a virtual folder cannot be deleted.');
    const sizeBytes = await measureSize(paths, source.realPath, stats);
    const about = { path, realPath: source.realPath, sizeBytes, isFolder: entry.isFolder, isReplaced: false };
    const prepared = await ifRoom(paths, async () => {
      folder?.close();
      folder = await trashFor(paths, source.realPath);
      return { opened: folder, id: await writeRecord(paths, folder, about) };
    });
    if (!prepared) return undefined;
    const { opened, id } = prepared;
    const target = { folder: opened.opened, name: id, realPath: opened.contentPath(id) };
    const options: Move['options'] = { mayReplace: 'nothing', acrossKinds: false, verify };
    const to = `/${trashName}/${id}` as VirtualPath;
    try {
      await relocate({ paths, from: path, to, entry, source, target, options, durability, intoTrash: true, followed });
    } catch (error) {
      opened.forget(id);
      // The content is on another file system, and the disk of the trash has no space for a copy.
      if (isServiceError(error, 'storage-full')) return undefined;
      throw error;
    }
    // Another node may have moved the parent folder meanwhile. If so, the record gets the current path, because another folder may be at
    // the former path.
    const place = currentPlace(paths, parent, name, path);
    if (place.realPath !== source.realPath) opened.correct(id, place);
    return target.realPath;
  } finally {
    parent.close();
    folder?.close();
    endMove();
  }
}
