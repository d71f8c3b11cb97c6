import { constants, fchmodSync, fstatSync, lstatSync, mkdirSync, readdirSync, readlinkSync, type Stats, symlinkSync } from 'node:fs';
import { closeAsync, fsyncAsync, futimesAsync, openAsync, readChunks, toSeconds, writeAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import { type OpenedFolder, openFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { isKeptName, isRemovedName, isTemporaryName } from '../disk/temporaries.ts';

/** Members looked at before other requests run. */
const maxAtOnce = 256;

/** What a tree looked like: relative path (empty for the top) to what tells one state of a member from another. */
export type TreeState = ReadonlyMap<string, string>;

/**
 * Copies a file, a link, or a folder with all it holds, with times and modes; everything is on disk when the promise resolves.
 * Links are copied, never followed. For moves from one file system to another.
 *
 * @param parent opened folder of the source, whose member `name` exists
 * @param target path of something that does not exist
 * @returns the state of what was copied, to be compared with `treeState` before the source is removed
 * @throws ServiceError `never-allowed` for what is no file, folder or link, `unavailable` when an upload runs inside
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
  await note(state, relative, stats);
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(parent.member(name)), target);
  else if (stats.isFile()) await copyFileMember(parent.member(name), target);
  else if (stats.isDirectory()) {
    const folder = openFolder(roots, `${parent.realPath}/${name}`);
    try {
      mkdirSync(target, { mode: 0o700 });
      for (const member of readdirSync(folder.member('.'))) {
        // What is kept of an unfinished upload does not move along.
        if (isRemovedName(member) || isKeptName(member)) continue;
        // An upload under way would be cut off from its folder and its content lost with the source.
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

/** The state of a tree as it is now. */
export async function treeState(path: string): Promise<TreeState> {
  const state = new Map<string, string>();
  const waiting = [''];
  for (let relative = waiting.pop(); relative !== undefined; relative = waiting.pop()) {
    const member = relative === '' ? path : `${path}/${relative}`;
    const stats = lstatSync(member);
    await note(state, relative, stats);
    if (!stats.isDirectory()) continue;
    for (const name of readdirSync(member)) if (!isRemovedName(name)) waiting.push(relative === '' ? name : `${relative}/${name}`);
  }
  return state;
}

async function note(state: Map<string, string>, relative: string, stats: Stats): Promise<void> {
  state.set(relative, stateOf(stats));
  if (state.size % maxAtOnce === 0) await new Promise(setImmediate);
}

/** Whether nothing changed between two states. */
export function isSameState(before: TreeState, after: TreeState): boolean {
  return before.size === after.size && [...before].every(([path, state]) => after.get(path) === state);
}

function stateOf(stats: Stats): string {
  // A folder's own times change with the rename of the top; its members are compared one by one.
  return stats.isDirectory() ? 'folder' : `${stats.ino}:${stats.size}:${stats.mtimeMs}`;
}
