import { lstatSync } from 'node:fs';
import { basename } from 'node:path';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import type { Durability } from '../disk/folder-sync.ts';
import { openParent } from '../disk/opened.ts';
import { trashName } from '../disk/temporaries.ts';
import type { Entry } from '../entry.ts';
import { type Move, relocate } from '../operations/relocate.ts';
import { sizeOf, trashFor, writeRecord } from './trash.ts';
import type { TrashFolder } from './trash-folder.ts';

/**
 * Moves a file or a folder into the trash. Rights and locks are the caller's.
 *
 * @param realPath absolute path, links not resolved
 * @param verify runs with the current entry just before the rename; throwing keeps it where it is
 * @returns real path of it in the trash
 * @throws ServiceError `fixed-folder` for a folder that holds a root or the data folder, `not-found`
 */
export async function moveToTrash(
  paths: AccountPaths,
  { path, realPath, entry }: { path: VirtualPath; realPath: string; entry: Entry },
  durability: Durability,
  verify: (current: Entry) => void = () => {},
): Promise<string> {
  const { roots } = paths.mounts;
  const parent = openParent(roots, realPath);
  const name = basename(realPath);
  const source = { folder: parent, name, realPath: `${parent.realPath}/${name}` };
  let folder: TrashFolder | undefined;
  const endMove = paths.environment.quotas.usage(roots).beginMove();
  try {
    const stats = lstatSync(parent.member(name), { throwIfNoEntry: false });
    if (!stats) throw new ServiceError('not-found', 'Path not found.');
    if (stats.isDirectory() && roots.isHeldBy(source.realPath))
      throw new ServiceError('fixed-folder', 'A folder that holds a virtual folder cannot be deleted.');
    const sizeBytes = await sizeOf(paths, source.realPath, stats);
    folder = await trashFor(paths, source.realPath);
    const id = await writeRecord(paths, folder, {
      path,
      realPath: source.realPath,
      sizeBytes,
      isFolder: entry.isFolder,
      isReplaced: false,
    });
    const target = { folder: folder.opened, name: id, realPath: folder.contentPath(id) };
    const options: Move['options'] = { mayReplace: 'nothing', acrossKinds: false, verify };
    try {
      await relocate({ paths, from: path, to: `/${trashName}/${id}` as VirtualPath, entry, source, target, options, durability });
    } catch (error) {
      folder.forget(id);
      throw error;
    }
    return target.realPath;
  } finally {
    parent.close();
    folder?.close();
    endMove();
  }
}
