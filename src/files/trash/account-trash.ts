import { lstatSync, type Stats } from 'node:fs';
import { basename, dirname } from 'node:path';
import { eventIds } from '../../events/event-ids.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { baseName, memberPath, parentPath, parseVirtualPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { Durability } from '../disk/folder-sync.ts';
import { openParent } from '../disk/opened.ts';
import { checkPathLength } from '../disk/system-errors.ts';
import { walkTree } from '../disk/walk-tree.ts';
import { toEntry } from '../entry.ts';
import { isHeld } from '../inspections/gate.ts';
import type { Operation } from '../needed-rights.ts';
import { relocate } from '../operations/relocate.ts';
import { endTrashed, withTrash, withTrashed } from './trash.ts';
import type { Trashed, TrashFolder } from './trash-folder.ts';

/**
 * The operation that put an item into the trash. The rights for this operation are also needed to see the item in the trash and to restore
 * it.
 */
function deletionOperation({ isFolder, isReplaced }: Trashed): Operation {
  if (isFolder) return 'deleteFolder';
  return isReplaced ? 'replaceFile' : 'deleteFile';
}

/** The trash of an account. It contains files and folders that the account deleted or replaced, and may restore. */
export class AccountTrash {
  readonly #paths: AccountPaths;
  readonly #createFolder: (path: VirtualPath) => Promise<void>;

  /** @param createFolder creates a missing folder */
  constructor(paths: AccountPaths, createFolder: (path: VirtualPath) => Promise<void>) {
    this.#paths = paths;
    this.#createFolder = createFolder;
  }

  /** All items that the account may see, newest first. */
  list(): Promise<Trashed[]> {
    const paths = this.#paths;
    return withTrash(paths, async (all) =>
      all.map(({ trashed }) => trashed).filter((trashed) => paths.may(trashed.path, deletionOperation(trashed))),
    );
  }

  /**
   * Restores an item, and creates missing parent folders. Emits `trashRestored`.
   *
   * Permissions: the same as for the deletion; also `create-folder` for each restored folder, and `write` or `create-file` for each file.
   *
   * @param verify called with the new path; refuses it by throwing
   * @param wanted another path, or another name in the former folder; by default the former path
   * @param administrator name of the administrator who restores the item for the account, for the event
   * @returns the new path
   * @throws ServiceError `not-found`, `forbidden`, `exists` if the name is taken, `parent-missing` if a folder may not be created,
   *   `name-invalid`
   */
  restore(id: string, verify: (to: VirtualPath) => void, wanted?: string, administrator?: string): Promise<VirtualPath> {
    const paths = this.#paths;
    return withTrashed(paths, id, async (folder, trashed) => {
      const to = wanted === undefined ? trashed.path : wantedPath(trashed.path, wanted);
      verify(to);
      await checkRestorable(paths, folder, trashed, to);
      for (const parent of missingParents(paths, to)) {
        if (!paths.may(parent, 'createFolder'))
          throw new ServiceError('parent-missing', 'The folder is gone, and the account may not create it again.');
        await this.#createFolder(parent);
      }
      await putBack(paths, folder, trashed, to, administrator);
      return to;
    });
  }

  /** Deletes an item permanently. Emits `trashEnded`. @throws ServiceError `not-found`, `forbidden` */
  end(id: string): Promise<void> {
    const paths = this.#paths;
    return withTrashed(paths, id, async (folder, trashed) => {
      paths.require(trashed.path, trashed.isFolder ? 'deleteFolder' : 'deleteFile');
      if (!(await endTrashed(paths.environment, { folder, trashed }, 'person', paths.context))) throw gone();
      paths.environment.quotas.usage(paths.mounts.accountRoots).removed();
    });
  }

  /** Permanently deletes every item that the account may delete. @returns the items that remain and that the account may see */
  empty(): Promise<Trashed[]> {
    const paths = this.#paths;
    return withTrash(paths, async (all) => {
      const left: Trashed[] = [];
      for (const item of all) {
        const { trashed } = item;
        if (paths.may(trashed.path, trashed.isFolder ? 'deleteFolder' : 'deleteFile'))
          await endTrashed(paths.environment, item, 'person', paths.context);
        else if (paths.may(trashed.path, deletionOperation(trashed))) left.push(trashed);
      }
      paths.environment.quotas.usage(paths.mounts.accountRoots).removed();
      return left;
    });
  }
}

function wantedPath(former: VirtualPath, wanted: string): VirtualPath {
  const path = wanted.startsWith('/') ? parseVirtualPath(wanted) : parseVirtualPath(memberPath(parentPath(former), wanted));
  if (path === '/') throw new ServiceError('name-invalid', 'A name must not be empty, "." or "..".');
  return path;
}

async function checkRestorable(paths: AccountPaths, folder: TrashFolder, trashed: Trashed, to: VirtualPath): Promise<void> {
  paths.require(trashed.path, deletionOperation(trashed));
  paths.require(to, trashed.isFolder ? 'createFolder' : 'createFile');
  paths.environment.events.assertWritable();
  const location = paths.mounts.locate(to);
  if (location.isFixed) throw taken();
  const realTo = paths.writable(location);
  const contentPath = folder.contentPath(trashed.id);
  if (statContent(folder, trashed.id).isDirectory()) {
    for await (const { relativePath, isFolder } of walkTree(paths.mounts.accountRoots, contentPath)) {
      if (relativePath === '') continue;
      checkPathLength(`${realTo}/${relativePath}`);
      if (!paths.may(`${to}/${relativePath}` as VirtualPath, isFolder ? 'createFolder' : 'createFile'))
        throw new ServiceError('forbidden', 'Permission denied.');
    }
  }
  if (paths.entryAt(to)) throw taken();
  await paths.requireUnlocked(to, 'tree');
}

/** @throws ServiceError `not-found` if another request, on any node, has restored or deleted the item meanwhile */
function statContent(folder: TrashFolder, id: string): Stats {
  const stats = lstatSync(folder.member(id), { throwIfNoEntry: false });
  if (!stats) throw gone();
  return stats;
}

function gone(): ServiceError {
  return new ServiceError('not-found', 'The item is not in the trash.');
}

function taken(): ServiceError {
  return new ServiceError('exists', 'The name is taken; restore the item under another name.');
}

function missingParents(paths: AccountPaths, path: VirtualPath): VirtualPath[] {
  const missing: VirtualPath[] = [];
  for (let parent = parentPath(path); parent !== '/' && !paths.entryAt(parent); parent = parentPath(parent)) missing.unshift(parent);
  return missing;
}

async function putBack(
  paths: AccountPaths,
  folder: TrashFolder,
  { id, path, realPath, isFolder }: Trashed,
  to: VirtualPath,
  administrator: string | undefined,
): Promise<void> {
  const { mounts, environment } = paths;
  const durability = new Durability();
  const contentPath = folder.contentPath(id);
  const mount = mounts.virtualRoot(dirname(dirname(folder.opened.realPath)));
  const from = `${mount === '/' ? '' : mount}${contentPath.slice(dirname(dirname(folder.opened.realPath)).length)}` as VirtualPath;
  const realTo = paths.writable(mounts.locate(to));
  const parent = openParent(mounts.roots, realTo);
  const endMove = environment.quotas.usage(mounts.accountRoots).beginMove();
  try {
    const name = basename(realTo);
    await relocate({
      paths,
      from,
      to,
      entry: toEntry(baseName(to), statContent(folder, id)),
      source: { folder: folder.opened, name: id, realPath: contentPath },
      target: { folder: parent, name, realPath: `${parent.realPath}/${name}` },
      options: { mayReplace: 'nothing', acrossKinds: false },
      formerly: { path, realPath },
      durability,
    });
  } catch (error) {
    if (isHeld(error)) folder.forget(id);
    if (isServiceError(error, 'destination-exists')) throw taken();
    if (isServiceError(error, 'not-found')) statContent(folder, id);
    throw error;
  } finally {
    parent.close();
    endMove();
  }
  folder.forget(id);
  await paths.emitDurable(eventIds.trashRestored, to, { trashed_path: path, is_directory: isFolder, administrator }, durability);
}
