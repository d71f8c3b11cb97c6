import { eventIds } from '../../events/event-ids.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { Durability } from '../disk/folder-sync.ts';
import { resolveParent } from '../disk/real-roots.ts';
import type { Entry } from '../entry.ts';
import { endUploadsBelow } from '../uploads/end-upload.ts';
import { type LeftBehind, removeFile, removeTree, removeUnusedFolder } from './folder-remover.ts';

/**
 * Deletes a file; event `fileRemoved` or `fileRemovalFailed`.
 *
 * @param verify runs with what the name means just before it is removed; throwing keeps the file
 */
export async function deleteFile(paths: AccountPaths, path: VirtualPath, verify?: (current: Entry) => void): Promise<void> {
  const { environment, mounts } = paths;
  const durability = new Durability();
  try {
    const realPath = await removablePath(paths, path, 'deleteFile');
    await environment.pathMutex.runExclusive([resolveParent(realPath)], async () => {
      const current = paths.entryAt(path);
      if (current) verify?.(current);
      if (current?.isFolder) throw new ServiceError('is-folder', 'The path is a folder.');
      if (!current) throw new ServiceError('not-found', 'Path not found.');
      await removeFile(mounts.roots, realPath, durability);
    });
  } catch (error) {
    throw paths.reported(eventIds.fileRemovalFailed, path, error);
  }
  await paths.forgetLocks(path);
  environment.quotas.removed(mounts.roots);
  await paths.emitDurable(eventIds.fileRemoved, path, {}, durability);
}

/** Deletes a folder that is empty but for unfinished uploads, which end with it; event `folderRemoved` or `folderRemovalFailed`. @throws ServiceError `not-empty`, `exists` for a file */
export async function deleteEmptyFolder(paths: AccountPaths, path: VirtualPath): Promise<void> {
  const durability = new Durability();
  let place: string;
  try {
    const realPath = await removablePath(paths, path, 'deleteFolder');
    place = resolveParent(realPath);
    const current = paths.entryAt(path);
    if (!current) throw new ServiceError('not-found', 'Path not found.');
    if (!current.isFolder) throw new ServiceError('exists', 'A file has this name.');
    if (current.isLink) await removeFile(paths.mounts.roots, realPath, durability);
    else await removeUnusedFolder(paths.mounts.roots, realPath, durability);
  } catch (error) {
    throw paths.reported(eventIds.folderRemovalFailed, path, error);
  }
  await tellRemoved(paths, path, place, durability);
}

async function tellRemoved(paths: AccountPaths, path: VirtualPath, place: string, durability: Durability): Promise<void> {
  await paths.forgetLocks(path);
  try {
    await paths.emitDurable(eventIds.folderRemoved, path, {}, durability);
  } finally {
    await endUploadsBelow(paths, place);
  }
}

/** What decides about the deletion of a folder on the way. */
export interface FolderDeletion {
  /** Runs with what the name means just before the first removal; throwing keeps the folder. */
  verify?: ((current: Entry) => void) | undefined;
  /** Ends it when aborted; its reason is a `ServiceError`. */
  stop?: AbortSignal | undefined;
}

/**
 * Deletes a folder with all it holds; event `folderRemoved` or `folderRemovalFailed`. Every member's permission is checked before the
 * first removal; an empty folder needs `delete-folder` alone.
 *
 * @returns what was left behind; empty when all is gone
 * @throws ServiceError the reason of `stop` when that ended it with a part of the folder still there
 */
export async function deleteFolder(paths: AccountPaths, path: VirtualPath, { verify, stop }: FolderDeletion): Promise<LeftBehind[]> {
  const { environment, mounts } = paths;
  const durability = new Durability();
  let left: LeftBehind[];
  let place: string;
  try {
    const realPath = await removablePath(paths, path, 'deleteFolder');
    place = resolveParent(realPath);
    const current = paths.entryAt(path);
    if (!current?.isFolder) throw new ServiceError('not-found', 'Path not found.');
    verify?.(current);
    const folders = await paths.deletableFolders(path, realPath, current);
    left = await removeTree(mounts.roots, realPath, folders, durability, { temporaries: environment.temporaries, stop });
    if (current.isLink) await removeFile(mounts.roots, realPath, durability);
  } catch (error) {
    throw paths.reported(eventIds.folderRemovalFailed, path, error);
  } finally {
    environment.quotas.removed(mounts.roots);
  }
  if (left.length === 0) {
    await tellRemoved(paths, path, place, durability);
    return left;
  }
  if (durability.fault !== undefined) paths.notDurable(durability.fault, path);
  await paths.emitDurable(eventIds.folderRemovalFailed, path, {
    details: left.map((item) => `${item.relativePath}: ${item.message}`).slice(0, 100),
  });
  return left;
}

async function removablePath(paths: AccountPaths, path: VirtualPath, operation: 'deleteFile' | 'deleteFolder'): Promise<string> {
  paths.require(path, operation);
  const realPath = paths.removable(path);
  await paths.requireUnlocked(path, 'tree');
  return realPath;
}
