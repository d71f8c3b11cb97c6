import { constants, fchmodSync, fstatSync, lstatSync, mkdirSync, readdirSync, readlinkSync, type Stats, symlinkSync } from 'node:fs';
import { closeAsync, fsyncAsync, futimesAsync, openAsync, readChunks, toSeconds, writeAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import { type OpenedFolder, openFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { isKeptName, isRemovedName, isTemporaryName } from '../disk/temporaries.ts';

/** Number of members after which the event loop can serve other requests. */
const maxAtOnce = 256;

/** The state of each member of a tree, by its relative path. The path of the top is empty. */
export type TreeState = ReadonlyMap<string, string>;

/**
 * Copies a file, a symbolic link, or a folder with all its members, with times and modes. Used if a rename or a hard link is not possible,
 * or if inspections need a copy. The copy is on disk when the promise resolves. Symbolic links are copied, never followed.
 *
 * @param parent opened folder that contains the source; `name` is the name of the source in it
 * @param target a free path
 * @returns the state of the source. Before the caller removes the source, it compares this state with `treeState`, to find later changes
 * @throws ServiceError `never-allowed` for special files, `unavailable` if an upload into the folder is running
 */
export async function copyTree(roots: RealRoots, parent: OpenedFolder, name: string, target: string): Promise<TreeState> {
  const state = new Map<string, string>();
  try {
    await copyMember(roots, parent, name, target, '', state);
  } catch (error) {
    throw asServiceError(error);
  }
  return state;
}

async function copyMember(
  roots: RealRoots,
  parent: OpenedFolder,
  name: string,
  target: string,
  relative: string,
  state: Map<string, string>,
): Promise<void> {
  const stats = lstatSync(parent.member(name));
  await record(state, relative, stats);
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(parent.member(name)), target);
  else if (stats.isFile()) await copyFileMember(parent.member(name), target);
  else if (stats.isDirectory()) {
    const folder = openFolder(roots, `${parent.realPath}/${name}`);
    try {
      mkdirSync(target, { mode: 0o700 });
      for (const member of readdirSync(folder.member('.'))) {
        if (isRemovedName(member) || isKeptName(member)) continue;
        // A temporary file belongs to a running upload. Its content would be lost when the source is removed.
        if (isTemporaryName(member)) throw new ServiceError('unavailable', 'An upload into the folder is under way.');
        await copyMember(roots, folder, member, `${target}/${member}`, relative === '' ? member : `${relative}/${member}`, state);
      }
      await settle(target, fstatSync(folder.fd));
    } finally {
      folder.close();
    }
  } else throw new ServiceError('never-allowed', 'Only files, folders and links can be moved to another file system.');
}

async function copyFileMember(source: string, target: string): Promise<void> {
  const from = await openAsync(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const to = await openAsync(target, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
    try {
      for await (const chunk of readChunks(from)) {
        for (let done = 0; done < chunk.length; ) done += (await writeAsync(to, chunk, done, chunk.length - done)).bytesWritten;
      }
    } finally {
      await closeAsync(to);
    }
    await settle(target, fstatSync(from));
  } finally {
    await closeAsync(from);
  }
}

async function settle(path: string, stats: Stats): Promise<void> {
  const fd = await openAsync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    fchmodSync(fd, stats.mode & 0o777);
    await futimesAsync(fd, toSeconds(stats.atimeMs), toSeconds(stats.mtimeMs));
    await fsyncAsync(fd);
  } finally {
    await closeAsync(fd);
  }
}

/** The current state of a tree. */
export async function treeState(path: string): Promise<TreeState> {
  const state = new Map<string, string>();
  const waiting = [''];
  for (let relative = waiting.pop(); relative !== undefined; relative = waiting.pop()) {
    const member = relative === '' ? path : `${path}/${relative}`;
    const stats = lstatSync(member);
    await record(state, relative, stats);
    if (!stats.isDirectory()) continue;
    for (const name of readdirSync(member)) if (!isRemovedName(name)) waiting.push(relative === '' ? name : `${relative}/${name}`);
  }
  return state;
}

async function record(state: Map<string, string>, relative: string, stats: Stats): Promise<void> {
  // The state of a folder contains no times, because the rename of the top folder changes them. The members of a folder are compared one by
  // one.
  state.set(relative, stats.isDirectory() ? 'folder' : `${stats.ino}:${stats.size}:${stats.mtimeMs}`);
  if (state.size % maxAtOnce === 0) await new Promise(setImmediate);
}

export function isSameState(before: TreeState, after: TreeState): boolean {
  return before.size === after.size && [...before].every(([path, state]) => after.get(path) === state);
}
