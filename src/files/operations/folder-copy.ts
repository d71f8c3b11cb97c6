import { eventIds } from '../../events/event-ids.ts';
import { isServiceError, type Problem, ServiceError } from '../../lib/errors.ts';
import { memberPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { reserveRoom } from '../trash/trash.ts';
import { accountListing } from './account-listing.ts';
import { copyFile } from './copy.ts';
import { checkNesting } from './move.ts';
import { destinationExists } from './replacement.ts';

/** Maximum number of members in one copy. A larger tree is refused before the copy begins. */
const maxMembers = 100_000;

/** Number of files that are copied at the same time. They share the syncs of folders and events. */
const atOnce = 8;

/** The progress of a copy, in members. */
export interface CopyProgress {
  done: number;
  total: number;
}

interface Plan {
  /** Paths of the folders relative to the source, parents first. The source itself has the empty path. */
  folders: string[];
  files: string[];
  sizeBytes: number;
}

interface FolderCopy {
  createFolder(path: VirtualPath): Promise<void>;
  /** Stops the copy when aborted. Members that were already copied stay. */
  stop?: AbortSignal | undefined;
}

/**
 * Copies a folder with all its members to a free path. Each file is copied by `copyFile`; symbolic links are left out. Before the copy
 * begins, the rights for each member and the total size are checked.
 *
 * Permissions: `list` on each folder and `read` on each file of the source; at the destination, the rights to create folders and files. For
 * each folder, emits `folderCreated`. For each file, emits `copyStarted`, then `fileCopied` or `copyFailed`. If the copy is refused, emits
 * only `copyFailed` for the folder.
 *
 * @returns the problems of members that could not be copied. If a folder could not be created, its members are not listed
 * @throws ServiceError `forbidden`, `destination-exists`, `destination-overlaps`, `storage-full`, `too-large`, `unprocessable` for too many
 *   members; the reason of `stop`
 */
export async function* copyFolder(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  { createFolder, stop }: FolderCopy,
): AsyncGenerator<CopyProgress, readonly Problem[]> {
  let plan: Plan;
  try {
    checkNesting(from, to);
    if (paths.isVisible(to) && paths.entryAt(to)) throw destinationExists();
    plan = await planCopy(paths, from, to);
    (await reserveRoom(paths, 0, plan.sizeBytes)).release();
  } catch (error) {
    throw paths.reported(eventIds.copyFailed, from, error, { destination: to });
  }
  const { folders, files } = plan;
  const total = folders.length + files.length;
  const problems: Problem[] = [];
  const failed = new Set<string>();
  let done = 0;
  const attempt = async (relativePath: string, action: () => Promise<unknown>) => {
    done++;
    // If a folder could not be created, its members are skipped.
    if ([...failed].some((folder) => relativePath.startsWith(`${folder}/`))) return;
    try {
      await action();
    } catch (error) {
      const problem = asServiceError(error);
      if (stop?.aborted || problem.code === 'internal' || relativePath === '') throw problem;
      problems.push({ code: problem.code, message: problem.message, relativePath });
      if (folders.includes(relativePath)) failed.add(relativePath);
    }
  };
  for (const relative of folders) {
    stop?.throwIfAborted();
    await attempt(relative, () => createFolder(below(to, relative)));
  }
  yield { done, total };
  for (let at = 0; at < files.length; at += atOnce) {
    stop?.throwIfAborted();
    const options = { mayReplace: 'nothing', acrossKinds: false, stop } as const;
    const copies = files
      .slice(at, at + atOnce)
      .map((relative) => attempt(relative, () => copyFile(paths, below(from, relative), below(to, relative), options)));
    const fault = (await Promise.allSettled(copies)).find(({ status }) => status === 'rejected');
    if (fault?.status === 'rejected') throw fault.reason;
    yield { done, total };
  }
  return problems;
}

/** Finds all folders and files to be copied, and checks the rights for each. @throws ServiceError as `copyFolder` */
async function planCopy(paths: AccountPaths, from: VirtualPath, to: VirtualPath): Promise<Plan> {
  const plan: Plan = { folders: [''], files: [], sizeBytes: 0 };
  for (let index = 0; index < plan.folders.length; index++) {
    const folder = plan.folders[index] as string;
    paths.require(below(from, folder), 'listWholeFolder');
    requireNew(paths, below(to, folder), 'createFolder');
    for await (const batch of listing(paths, below(from, folder))) {
      for (const { name, isFolder, isLink, sizeBytes } of batch) {
        if (isLink) continue;
        const relative = folder === '' ? name : `${folder}/${name}`;
        if (isFolder) plan.folders.push(relative);
        else {
          paths.require(below(from, relative), 'readFile');
          requireNew(paths, below(to, relative), 'createFile');
          paths.checkFileSize(sizeBytes);
          plan.files.push(relative);
          plan.sizeBytes += sizeBytes;
        }
        if (plan.folders.length + plan.files.length > maxMembers)
          throw new ServiceError('unprocessable', `A folder with more than ${maxMembers} members cannot be copied by one request.`);
      }
    }
  }
  return plan;
}

function requireNew(paths: AccountPaths, path: VirtualPath, operation: 'createFolder' | 'createFile'): void {
  paths.require(path, operation);
  paths.writable(paths.mounts.locate(path));
}

async function* listing(paths: AccountPaths, folder: VirtualPath) {
  try {
    yield* accountListing(paths, folder);
  } catch (error) {
    // The folder was removed after its parent was read.
    if (!isServiceError(error, 'not-found')) throw error;
  }
}

function below(folder: VirtualPath, relative: string): VirtualPath {
  return relative === '' ? folder : relative.split('/').reduce<VirtualPath>((path, name) => memberPath(path, name), folder);
}
