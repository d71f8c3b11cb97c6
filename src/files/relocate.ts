import { lstatSync, renameSync, type Stats, unlinkSync } from 'node:fs';
import { ServiceError, systemErrorCode } from '../lib/errors.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import type { AccountPaths } from './account-paths.ts';
import type { Entry } from './entry.ts';
import { syncOpenedFolder } from './folder-sync.ts';
import { takeNameAway } from './freeing.ts';
import type { OpenedFolder } from './opened.ts';
import { removeAll, type SetAside, setAside } from './set-aside.ts';
import { asServiceError } from './system-errors.ts';
import { inodeOf, temporaryName } from './temporaries.ts';
import { copyTree, isSameState, type TreeState, treeState } from './tree-copy.ts';

export interface MoveOptions {
  /** Whether something at the destination may be replaced. */
  overwrite: boolean;
  /** Refuses by throwing; runs with the source, and again in the turn of the rename. */
  verify?: ((source: Entry) => void) | undefined;
}

/** Both ends of a move, opened. */
export interface MoveEnds {
  source: OpenedFolder;
  sourceName: string;
  target: OpenedFolder;
  targetName: string;
}

/** What stands at the destination now; links are not followed. */
export function existingAt(parent: OpenedFolder, name: string): Stats | undefined {
  return lstatSync(parent.member(name), { throwIfNoEntry: false });
}

export function destinationExists(): ServiceError {
  return new ServiceError('precondition-failed', 'The destination exists and must not be overwritten.');
}

/** Moves, and syncs both folders. @returns whether the destination was free */
export async function relocate(
  paths: AccountPaths,
  from: VirtualPath,
  entry: Entry,
  ends: MoveEnds,
  options: MoveOptions,
): Promise<boolean> {
  let put: { created: boolean; replaced: SetAside | undefined; freed?: Promise<void> | undefined };
  try {
    put = await inTurn(paths, ends, () => putInPlace(paths, from, ends, options, entry, ends.source.member(ends.sourceName)));
  } catch (error) {
    if (systemErrorCode(error) !== 'EXDEV') throw asServiceError(error);
    put = await relocateAcross(paths, from, entry, ends, options);
  }
  await syncOpenedFolder(ends.target.fd);
  await syncOpenedFolder(ends.source.fd);
  await put.replaced?.remove();
  await put.freed;
  return put.created;
}

/**
 * Gives what stands at `member` the destination's name, all in one turn: conditions, the way cleared, the rename.
 */
function putInPlace(
  paths: AccountPaths,
  from: VirtualPath,
  ends: MoveEnds,
  options: MoveOptions,
  entry: Entry,
  member: string,
): { created: boolean; replaced: SetAside | undefined; freed?: Promise<void> | undefined } {
  const current = paths.entryAt(from);
  if (current) options.verify?.(current);
  const source = lstatSync(member);
  const existing = existingAt(ends.target, ends.targetName);
  if (existing && !options.overwrite) throw destinationExists();
  const target = ends.target.member(ends.targetName);
  const isFolder = entry.isFolder && !entry.isLink;
  if (existing && !isFolder && existing.ino === source.ino && existing.dev === source.dev) {
    // Two names of one file: rename(2) would do nothing and leave both.
    unlinkSync(member);
    return { created: false, replaced: undefined };
  }
  if (!existing) {
    renameSync(member, target);
    return { created: true, replaced: undefined };
  }
  if (!isFolder && !existing.isDirectory()) {
    const { freed } = takeNameAway(target, existing, () => renameSync(member, target));
    return { created: false, replaced: undefined, freed };
  }
  const replaced = setAside(ends.target, ends.targetName, paths.mounts.roots, paths.environment.temporaries);
  try {
    renameSync(member, target);
  } catch (error) {
    replaced.putBack();
    throw error;
  }
  return { created: false, replaced };
}

// Workers that move from or to one place do so one after the other.
async function inTurn<T>(paths: AccountPaths, ends: MoveEnds, action: () => T): Promise<T> {
  const { turns } = paths.environment;
  if (!turns) return action();
  return turns.inTurn([`${ends.source.realPath}/${ends.sourceName}`, `${ends.target.realPath}/${ends.targetName}`], action);
}

async function relocateAcross(
  paths: AccountPaths,
  from: VirtualPath,
  entry: Entry,
  ends: MoveEnds,
  options: MoveOptions,
): Promise<{ created: boolean; replaced: SetAside | undefined }> {
  const { temporaries } = paths.environment;
  const { roots } = paths.mounts;
  const hidden = temporaryName();
  const hiddenPath = `${ends.target.realPath}/${hidden}`;
  temporaries.add(hiddenPath);
  let source: SetAside | undefined;
  let put: { created: boolean; replaced: SetAside | undefined; freed?: Promise<void> | undefined };
  try {
    const copied = await copyTree(roots, ends.source, ends.sourceName, ends.target.member(hidden));
    const current = paths.entryAt(from);
    if (!current) throw new ServiceError('not-found', 'Path not found.');
    options.verify?.(current);
    // From here on nothing new can come into the source, so what is removed below is what was copied.
    const inode = inodeOf(ends.target.member(hidden)) ?? '';
    const successor = { path: `${ends.target.realPath}/${ends.targetName}`, inode };
    source = setAside(ends.source, ends.sourceName, roots, temporaries, successor);
    checkUnchanged(copied, source);
    const member = ends.target.member(hidden);
    put = await inTurn(paths, ends, () => putInPlace(paths, from, ends, { overwrite: options.overwrite }, entry, member));
    await syncOpenedFolder(ends.target.fd);
  } catch (error) {
    source?.putBack();
    if (await removeAll(roots, hiddenPath).catch(() => false)) temporaries.delete(hiddenPath);
    throw asServiceError(error);
  }
  temporaries.delete(hiddenPath);
  await source.remove();
  return put;
}

function checkUnchanged(copied: TreeState, source: SetAside): void {
  if (!isSameState(copied, treeState(source.realPath)))
    throw new ServiceError('unavailable', 'The source changed while it was moved; try again.');
}
