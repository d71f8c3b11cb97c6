import { lstatSync, renameSync, type Stats, unlinkSync } from 'node:fs';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import type { Durability } from '../disk/folder-sync.ts';
import { freeInBackground } from '../disk/freeing.ts';
import type { OpenedFolder } from '../disk/opened.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { inodeAt, temporaryName } from '../disk/temporaries.ts';
import type { Entry } from '../entry.ts';
import { removeAll, type SetAside, setAside } from './folder-remover.ts';
import { checkReplaceable, destinationExists, type ReplacementRules } from './replacement.ts';
import { copyTree, isSameState, type TreeState, treeState } from './tree-copy.ts';

export interface MoveOptions extends ReplacementRules {
  /** Refuses by throwing; runs with the source, and again in the turn of the rename. */
  verify?: ((source: Entry) => void) | undefined;
  /** Which names files have only until they are whole: one that gets another name was uploaded under that. */
  isTemporaryName?: ((name: string) => boolean) | undefined;
}

/** Both ends of a move, opened. */
export interface MoveEnds {
  source: OpenedFolder;
  sourceName: string;
  target: OpenedFolder;
  targetName: string;
}

/** What became of a move. */
export interface Moved {
  /** What stood at the destination. */
  replaced: 'file' | 'folder' | undefined;
}

interface Put extends Moved {
  aside?: SetAside;
  freed?: Promise<void> | undefined;
}

/** Moves, and syncs both folders. @param durability has the fault of a disk that failed once the move was made */
export async function relocate(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  entry: Entry,
  ends: MoveEnds,
  options: MoveOptions,
  durability: Durability,
): Promise<Moved> {
  let put: Put;
  try {
    put = await inTurn(paths, ends, () => putInPlace(paths, from, to, ends, options, entry, ends.source.member(ends.sourceName)));
  } catch (error) {
    if (systemErrorCode(error) !== 'EXDEV') throw asServiceError(error);
    put = await relocateAcross(paths, from, to, entry, ends, options, durability);
  }
  await durability.syncFolder(ends.target.fd);
  await durability.syncFolder(ends.source.fd);
  // What a power cut may give its name back to stays: the next start puts it back, or removes it.
  if (durability.fault === undefined) await durability.attempt(async () => put.aside?.remove());
  await put.freed;
  return { replaced: put.replaced };
}

/**
 * Gives what stands at `member` the destination's name, all in one turn: conditions, the way cleared, the rename.
 */
async function putInPlace(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  ends: MoveEnds,
  options: MoveOptions,
  entry: Entry,
  member: string,
): Promise<Put> {
  await checkReplaceable(paths, to, `${ends.target.realPath}/${ends.targetName}`, entry, options);
  const current = paths.entryAt(from);
  if (current) options.verify?.(current);
  const source = lstatSync(member);
  const existing = lstatSync(ends.target.member(ends.targetName), { throwIfNoEntry: false });
  if (existing) checkKnown(existing, options);
  const target = ends.target.member(ends.targetName);
  const isFolder = entry.isFolder && !entry.isLink;
  if (existing && !isFolder && existing.ino === source.ino && existing.dev === source.dev) {
    // Two names of one file: rename(2) would do nothing and leave both.
    unlinkSync(member);
    return { replaced: 'file' };
  }
  if (!existing) {
    renameSync(member, target);
    return { replaced: undefined };
  }
  const replaced = paths.entryAt(to)?.isFolder ? 'folder' : 'file';
  if (!isFolder && !existing.isDirectory()) {
    const { freed } = freeInBackground(target, existing, () => renameSync(member, target));
    return { replaced, freed };
  }
  const aside = setAside(ends.target, ends.targetName, paths.mounts.roots, paths.environment.temporaries);
  try {
    renameSync(member, target);
  } catch (error) {
    aside.putBack();
    throw error;
  }
  return { replaced, aside };
}

// A link that leads nowhere is replaced like a file; devices and the like are not.
function checkKnown(existing: Stats, { mayReplace }: MoveOptions): void {
  if (mayReplace === 'nothing') throw destinationExists();
  if (!existing.isFile() && !existing.isDirectory() && !existing.isSymbolicLink())
    throw new ServiceError('never-allowed', 'The path is not a regular file.');
}

function inTurn<T>(paths: AccountPaths, ends: MoveEnds, action: () => Promise<T>): Promise<T> {
  return paths.environment.pathMutex.runExclusive(
    [`${ends.source.realPath}/${ends.sourceName}`, `${ends.target.realPath}/${ends.targetName}`],
    action,
  );
}

async function relocateAcross(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  entry: Entry,
  ends: MoveEnds,
  options: MoveOptions,
  durability: Durability,
): Promise<Put> {
  const { temporaries } = paths.environment;
  const { roots } = paths.mounts;
  const hidden = temporaryName();
  const hiddenPath = `${ends.target.realPath}/${hidden}`;
  temporaries.add(hiddenPath);
  let source: SetAside | undefined;
  let put: Put;
  try {
    const copied = await copyTree(roots, ends.source, ends.sourceName, ends.target.member(hidden));
    const current = paths.entryAt(from);
    if (!current) throw new ServiceError('not-found', 'Path not found.');
    options.verify?.(current);
    // From here on nothing new can come into the source, so what is removed below is what was copied.
    const inode = inodeAt(ends.target.member(hidden)) ?? '';
    const successor = { path: `${ends.target.realPath}/${ends.targetName}`, inode };
    source = setAside(ends.source, ends.sourceName, roots, temporaries, successor);
    await checkUnchanged(copied, source);
    const member = ends.target.member(hidden);
    put = await inTurn(paths, ends, () => putInPlace(paths, from, to, ends, { ...options, verify: undefined }, entry, member));
  } catch (error) {
    source?.putBack();
    if (await removeAll(roots, hiddenPath).catch(() => false)) temporaries.delete(hiddenPath);
    throw asServiceError(error);
  }
  await durability.syncFolder(ends.target.fd);
  temporaries.delete(hiddenPath);
  const replacedSource = source;
  if (durability.fault === undefined) await durability.attempt(() => replacedSource.remove());
  return put;
}

async function checkUnchanged(copied: TreeState, source: SetAside): Promise<void> {
  if (!isSameState(copied, await treeState(source.realPath)))
    throw new ServiceError('unavailable', 'The source changed while it was moved; try again.');
}
