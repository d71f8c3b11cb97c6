import { lstatSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Problem, ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { Durability } from '../disk/folder-sync.ts';
import { freeInBackground } from '../disk/freeing.ts';
import { changeInParent, type OpenedFolder, openFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { isKeptName, isRemovedName, type Successor, type Temporaries, temporaryName } from '../disk/temporaries.ts';
import { walkTree } from '../disk/walk-tree.ts';

/** Something moved out of the way under a hidden name beside it. Ends with `putBack` or `remove`. */
export interface SetAside {
  /** Its path while it is aside. */
  readonly realPath: string;
  putBack(): void;
  /** Removes it for good. What cannot be removed stays hidden and is tried again at the next start. */
  remove(): Promise<void>;
}

/**
 * Moves a member of an opened folder, which stays open until the end, out of the way, so that its name is free at once and it can still be put back: rename(2)
 * cannot put one thing in the place of a folder. When the process is killed meanwhile, the next start puts it back, or
 * removes it when its name is taken by then.
 *
 * @param successor what takes its place elsewhere: when that stands there, the next start removes it
 */
export function setAside(parent: OpenedFolder, name: string, roots: RealRoots, temporaries: Temporaries, successor?: Successor): SetAside {
  const hidden = temporaryName();
  const realPath = `${parent.realPath}/${hidden}`;
  temporaries.add(realPath, `${parent.realPath}/${name}`, successor);
  try {
    temporaries.sync();
    renameSync(parent.member(name), parent.member(hidden));
  } catch (error) {
    temporaries.delete(realPath);
    throw error;
  }
  return {
    realPath,
    putBack() {
      renameSync(parent.member(hidden), parent.member(name));
      temporaries.delete(realPath);
    },
    async remove() {
      temporaries.add(realPath);
      temporaries.sync();
      if (await removeAll(roots, realPath)) temporaries.delete(realPath);
    },
  };
}

/** Removes a file, a link, or a folder with all it holds. @returns whether all of it is gone, and stays so */
export async function removeAll(roots: RealRoots, realPath: string): Promise<boolean> {
  const stats = lstatSync(realPath, { throwIfNoEntry: false });
  if (!stats) return true;
  const durability = new Durability();
  if (!stats.isDirectory()) {
    const remove = (member: string) => freeInBackground(member, stats, () => unlinkSync(member));
    await (await changeInParent(roots, realPath, durability, remove)).freed;
    return durability.fault === undefined;
  }
  const folders: string[] = [];
  for await (const member of walkTree(roots, realPath)) if (member.isFolder) folders.push(member.relativePath);
  return (await removeTree(roots, realPath, folders, durability)).length === 0 && durability.fault === undefined;
}

/** A path that a recursive removal left behind, and why. */
export type LeftBehind = Required<Problem>;

const membersPerTurn = 256;

/**
 * Removes a folder with all it holds. Links are removed, never followed. What cannot be removed is
 * left, with its parents, and reported; the rest goes. Where only files are left that somebody still has open (NFS), the folder gets
 * a hidden name instead, to go at the next start.
 *
 * @param folders the folder's sub-folders as `walkTree` gave them, parents first
 * @param durability has the fault of a disk that failed once a folder was gone
 * @param temporaries where that is noted; without it such a folder is left behind
 * @throws the reason of `stop` when that ended it before all was gone
 */
export async function removeTree(
  roots: RealRoots,
  path: string,
  folders: readonly string[],
  durability: Durability,
  { temporaries, stop }: { temporaries?: Temporaries; stop?: AbortSignal | undefined } = {},
): Promise<LeftBehind[]> {
  const left: LeftBehind[] = [];
  /** Folders in which nothing is but files that are removed, and such folders. */
  const emptied = new Set<string>();
  let seen = 0;
  for (const relative of folders.toReversed()) {
    stop?.throwIfAborted();
    const folderPath = relative === '' ? path : `${path}/${relative}`;
    try {
      const folder = openFolder(roots, folderPath);
      try {
        for (const name of readdirSync(folder.member('.'))) {
          if (stop?.aborted) break;
          const { result: removed, freed } = removeMember(folder.member(name));
          if (freed) await freed;
          if (removed !== undefined && !isRemovedName(name))
            left.push({ relativePath: relative === '' ? name : `${relative}/${name}`, code: removed.code, message: removed.message });
          if (++seen % membersPerTurn === 0) await new Promise(setImmediate);
        }
        const rest = readdirSync(folder.member('.'));
        const isGone = (name: string) => isRemovedName(name) || emptied.has(relative === '' ? name : `${relative}/${name}`);
        if (rest.length > 0 && rest.every(isGone)) emptied.add(relative);
      } finally {
        folder.close();
      }
      if (!emptied.has(relative)) await removeEmptyFolder(roots, folderPath, durability);
    } catch (error) {
      const meaning = asServiceError(error);
      // A parent of something left behind is not empty: its member already says why.
      const explained =
        meaning.code === 'not-empty' && left.some((item) => relative === '' || item.relativePath.startsWith(`${relative}/`));
      if (meaning.code !== 'not-found' && !explained) left.push({ relativePath: relative, code: meaning.code, message: meaning.message });
    }
  }
  if (left.length > 0) stop?.throwIfAborted();
  if (emptied.has('')) {
    if (temporaries) await hideFolder(roots, path, durability, temporaries);
    else left.push({ relativePath: '', code: 'in-use', message: 'Files in the folder are in use.' });
  }
  return left;
}

/** Takes away a folder's name and notes it for removal. */
async function hideFolder(roots: RealRoots, path: string, durability: Durability, temporaries: Temporaries): Promise<void> {
  const hidden = temporaryName();
  temporaries.add(join(dirname(path), hidden));
  await changeInParent(roots, path, durability, (member) => renameSync(member, join(dirname(member), hidden)));
}

/** @returns why it could not be removed */
function removeMember(path: string): { result: Problem | undefined; freed: Promise<void> | undefined } {
  return freeInBackground(path, undefined, () => {
    try {
      unlinkSync(path);
      return undefined;
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return undefined;
      // Its own turn comes, or came and reported: a folder is no fault here.
      if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined;
      return asServiceError(error);
    }
  });
}

/** Removes one folder in which nothing is, or content of unfinished uploads alone. @throws ServiceError `not-empty` */
export async function removeUnusedFolder(roots: RealRoots, path: string, durability: Durability): Promise<void> {
  const folder = openFolder(roots, path);
  try {
    const names = readdirSync(folder.member('.'));
    if (names.every(isKeptName)) for (const name of names) await removeMember(folder.member(name)).freed;
  } finally {
    folder.close();
  }
  await removeEmptyFolder(roots, path, durability);
}

/** Removes one empty folder, through its verified parent. @throws ServiceError `not-empty` */
async function removeEmptyFolder(roots: RealRoots, path: string, durability: Durability): Promise<void> {
  await changeInParent(roots, path, durability, (member) => rmdirSync(member));
}

/** Removes one file, or a link to one. @throws ServiceError `not-found`, `is-folder`, `forbidden` */
export async function removeFile(roots: RealRoots, path: string, durability: Durability): Promise<void> {
  const { freed } = await changeInParent(roots, path, durability, (member) => {
    const stats = lstatSync(member);
    if (stats.isDirectory()) throw new ServiceError('is-folder', 'The path is a folder.');
    return freeInBackground(member, stats, () => unlinkSync(member));
  });
  await freed;
}
