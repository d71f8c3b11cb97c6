import { lstatSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Problem, ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { Durability } from '../disk/folder-sync.ts';
import { freeInBackground } from '../disk/freeing.ts';
import { renameToFreeOrNumber } from '../disk/new-names.ts';
import { changeInParent, type OpenedFolder, openFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { isRetentionName } from '../disk/retention.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { asideName, isKeptName, isRemovedName, type Successor, type Temporaries, temporaryName } from '../disk/temporaries.ts';
import { walkTree } from '../disk/walk-tree.ts';

/** A file or folder that has a hidden name until the caller calls `putBack` or `remove`. */
export interface SetAside {
  readonly realPath: string;
  putBack(): void;
  /** Deletes the file or folder. If that fails, the next start of the service tries again. */
  remove(): Promise<void>;
}

/** Options of `setAside`: where the member gets its hidden name, and what the next start does with the member after a crash. */
interface Aside {
  /** The opened folder in which the member gets a hidden name; by default the folder that contains it. */
  into?: OpenedFolder;
  /** Path to which the next start moves the member back; by default its former path. */
  original?: string;
  /** The final file or folder of a move. If it exists, the move was complete, so the next start removes the hidden member. */
  successor?: Successor;
}

/**
 * Gives a member of an opened folder a hidden name, for example because rename(2) cannot replace a folder. The opened folder must stay open
 * until `putBack` or `remove`. If the process is killed meanwhile, the next start moves the member back, unless the `successor` exists. If
 * the former name is taken by then, it matters whether a `successor` was given. If so, the member gets a numbered name. If not, the member
 * was to be replaced, so it is removed.
 */
export function setAside(
  parent: OpenedFolder,
  name: string,
  roots: RealRoots,
  temporaries: Temporaries,
  { into = parent, original = `${parent.realPath}/${name}`, successor }: Aside = {},
): SetAside {
  const hidden = asideName();
  const realPath = `${into.realPath}/${hidden}`;
  temporaries.add(realPath, original, successor);
  try {
    temporaries.sync();
    renameSync(parent.member(name), into.member(hidden));
  } catch (error) {
    temporaries.delete(realPath);
    throw error;
  }
  const place = parent.currentPath();
  return {
    realPath,
    putBack() {
      // If the folder was moved after the member was set aside, inspections have judged the folder without this member. So the member must
      // not return to the folder.
      if (into !== parent && parent.currentPath() !== place)
        throw new ServiceError(
          'unavailable',
          'The folder was moved meanwhile; the item that was to be moved out of it stays hidden until the service starts again.',
        );
      renameToFreeOrNumber(into.member(hidden), parent, name);
      temporaries.delete(realPath);
    },
    async remove() {
      temporaries.add(realPath);
      temporaries.sync();
      if (await removeAll(roots, realPath)) temporaries.delete(realPath);
    },
  };
}

/** Removes a file, a symbolic link, or a folder with all its members. @returns whether all is removed, and stays so after a power cut */
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

export type LeftBehind = Required<Problem>;

const membersPerTurn = 256;

/**
 * Removes a folder with all its members. Symbolic links are removed, never followed. If a member cannot be removed, it is reported, and its
 * parents stay, too. On NFS, removed files remain in the folder while they are open. If nothing else remains, the folder gets a hidden
 * name, and the next start removes it.
 *
 * @param folders relative paths of the folder itself (empty) and of its sub-folders, in the order of `walkTree`: parents first
 * @param durability receives the fault if the disk failed after a folder was removed
 * @param temporaries records the folder with the hidden name; if undefined, the folder is reported as left behind
 * @throws the reason of `stop`, if it ended the removal early
 */
export async function removeTree(
  roots: RealRoots,
  path: string,
  folders: readonly string[],
  durability: Durability,
  { temporaries, stop }: { temporaries?: Temporaries; stop?: AbortSignal | undefined } = {},
): Promise<LeftBehind[]> {
  const left: LeftBehind[] = [];
  /** Folders whose files were all removed but are still open (NFS), and whose sub-folders are all in this set. */
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
      // The parent of a remaining member cannot be removed either. The parent is not reported, because the report of the member is enough.
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

async function hideFolder(roots: RealRoots, path: string, durability: Durability, temporaries: Temporaries): Promise<void> {
  const hidden = temporaryName();
  temporaries.add(join(dirname(path), hidden));
  await changeInParent(roots, path, durability, (member) => renameSync(member, join(dirname(member), hidden)));
}

/** @returns in `result`, the reason why the member could not be removed; undefined if it is gone, or is a folder */
function removeMember(path: string): { result: Problem | undefined; freed: Promise<void> | undefined } {
  return freeInBackground(path, undefined, () => {
    try {
      unlinkSync(path);
      return undefined;
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return undefined;
      if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined;
      return asServiceError(error);
    }
  });
}

/** Whether a folder counts as empty despite a file with this name: the content of an unfinished upload, or a record of retention. */
function isNegligible(name: string): boolean {
  return isKeptName(name) || isRetentionName(name);
}

/** @throws ServiceError `not-empty` if the folder contains anything except records of retention and the content of unfinished uploads */
export function checkUnused(roots: RealRoots, path: string): void {
  const folder = openFolder(roots, path);
  try {
    if (!readdirSync(folder.member('.')).every(isNegligible)) throw new ServiceError('not-empty', 'The folder is not empty.');
  } finally {
    folder.close();
  }
}

/**
 * Removes a folder that is empty or contains only records of retention and the content of unfinished uploads.
 *
 * @throws ServiceError `not-empty`
 */
export async function removeUnusedFolder(roots: RealRoots, path: string, durability: Durability): Promise<void> {
  const folder = openFolder(roots, path);
  try {
    const names = readdirSync(folder.member('.'));
    if (names.every(isNegligible)) for (const name of names) await removeMember(folder.member(name)).freed;
  } finally {
    folder.close();
  }
  await removeEmptyFolder(roots, path, durability);
}

/** Removes an empty folder through its verified parent. @throws ServiceError `not-empty` */
async function removeEmptyFolder(roots: RealRoots, path: string, durability: Durability): Promise<void> {
  await changeInParent(roots, path, durability, (member) => rmdirSync(member));
}

/** Removes a file, or a symbolic link. @throws ServiceError `not-found`, `is-folder`, `forbidden` */
export async function removeFile(roots: RealRoots, path: string, durability: Durability): Promise<void> {
  const { freed } = await changeInParent(roots, path, durability, (member) => {
    const stats = lstatSync(member);
    if (stats.isDirectory()) throw new ServiceError('is-folder', 'The path is a folder.');
    return freeInBackground(member, stats, () => unlinkSync(member));
  });
  await freed;
}
