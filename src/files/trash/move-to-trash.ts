import { lstatSync } from 'node:fs';
import { basename } from 'node:path';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import type { Durability } from '../disk/folder-sync.ts';
import { type FollowedFolder, openParent } from '../disk/opened.ts';
import { trashName } from '../disk/temporaries.ts';
import type { Entry } from '../entry.ts';
import { type Move, relocate } from '../operations/relocate.ts';
import { ifRoom, placeOf, sizeOf, trashFor, writeRecord } from './trash.ts';
import type { TrashFolder } from './trash-folder.ts';

/**
 * Moves a file or a folder into the trash. The caller checks rights and locks.
 *
 * @param realPath absolute path; links are not resolved
 * @param verify called with the current entry just before the rename. If it throws, the file or folder stays
 * @returns its real path in the trash; undefined if the disk is too full
 * @throws ServiceError `fixed-folder` for a folder that contains a root or the data folder, `not-found`
 */
export async function moveToTrash(
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
      throw new ServiceError('fixed-folder', 'A folder that holds a virtual folder cannot be deleted.');
    const sizeBytes = await sizeOf(paths, source.realPath, stats);
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
    // Another node has moved the folder, and may have put something else there before this was taken.
    const place = placeOf(paths, parent, name, path);
    if (place.realPath !== source.realPath) opened.correct(id, place);
    return target.realPath;
  } finally {
    parent.close();
    folder?.close();
    endMove();
  }
}
