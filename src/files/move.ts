import { fsync, lstatSync, renameSync, type Stats, unlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { ServiceError, systemErrorCode } from '../lib/errors.ts';
import { isWithin, type VirtualPath } from '../lib/virtual-path.ts';
import { type AccountPaths, denied } from './account-paths.ts';
import type { Entry } from './entry.ts';
import { walkTree } from './folder-remover.ts';
import { type OpenedFolder, openParent } from './opened.ts';
import { removeAll, type SetAside, setAside } from './set-aside.ts';
import { asServiceError } from './system-errors.ts';
import { temporaryName } from './temporaries.ts';
import { copyTree, isSameState, type TreeState, treeState } from './tree-copy.ts';

const fsyncAsync = promisify(fsync);

export interface MoveOptions {
  /** Whether something at the destination may be replaced. */
  overwrite: boolean;
  /** Refuses by throwing; runs with the source, and again in the turn of the rename. */
  verify?: ((source: Entry) => void) | undefined;
}

/** Both ends of a move, opened. */
interface Ends {
  source: OpenedFolder;
  sourceName: string;
  target: OpenedFolder;
  targetName: string;
}

/**
 * Moves a file or a folder. A file at the destination is replaced atomically; a folder is set aside first and comes back when
 * the move fails. Between file systems: copied to a hidden place beside the destination, synced, put in place, and only
 * then is the source removed, so that a failure at any moment leaves the source whole.
 *
 * Permissions (decisions.md): `rename` on both ends, on every member of a folder too; to replace something also
 * the right to overwrite or delete it. Events 40062 or 40063, then 40055 or 40065, on disk when the promise resolves; or 40056.
 *
 * @returns whether the destination was free before
 * @throws ServiceError `forbidden`, `not-found`, `parent-missing`, `precondition-failed`, `locked`
 */
export async function moveEntry(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  options: MoveOptions,
): Promise<{ created: boolean }> {
  const data = { destination: to };
  let ends: Ends | undefined;
  let moved: { created: boolean; isFolder: boolean };
  try {
    paths.requireAll(from, ['rename']);
    paths.requireAll(to, ['rename']);
    paths.environment.events.assertWritable();
    checkNesting(from, to);
    const { realFrom, realTo } = realEnds(paths, from, to);
    const entry = paths.entryAt(from);
    if (!entry) throw new ServiceError('not-found', 'Path not found.');
    options.verify?.(entry);
    ends = openEnds(paths, realFrom, realTo);
    await checkChange(paths, from, to, entry, options, ends);
    paths.emit(entry.isFolder ? 40063 : 40062, from, data);
    moved = { created: await relocate(paths, from, entry, ends, options), isFolder: entry.isFolder };
  } catch (error) {
    throw paths.reported(40056, from, error, data);
  } finally {
    ends?.source.close();
    ends?.target.close();
    paths.environment.quotas.forget(paths.mounts.roots);
  }
  await paths.forgetLocks(from);
  await paths.emitDurable(moved.isFolder ? 40065 : 40055, from, data);
  return { created: moved.created };
}

/** @throws ServiceError `forbidden` for a move to itself, into itself, or onto what holds it (RFC 4918 §9.9.4) */
export function checkNesting(from: VirtualPath, to: VirtualPath): void {
  if (from === to) throw new ServiceError('forbidden', 'Source and destination are the same.');
  if (isWithin(to, from)) throw new ServiceError('forbidden', 'A folder cannot go into itself.');
  if (isWithin(from, to)) throw new ServiceError('forbidden', 'The destination holds the source.');
}

function realEnds(paths: AccountPaths, from: VirtualPath, to: VirtualPath): { realFrom: string; realTo: string } {
  const source = paths.mounts.locate(from);
  const target = paths.mounts.locate(to);
  if (source.isFixed || target.isFixed)
    throw new ServiceError('forbidden', 'The home folder and virtual folders cannot be moved or replaced.');
  return { realFrom: paths.real(source), realTo: paths.writable(target) };
}

function openEnds(paths: AccountPaths, realFrom: string, realTo: string): Ends {
  const { roots } = paths.mounts;
  const source = openParent(roots, realFrom);
  try {
    const target = openParent(roots, realTo);
    return { source, sourceName: basename(realFrom), target, targetName: basename(realTo) };
  } catch (error) {
    source.close();
    throw error;
  }
}

async function checkChange(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  entry: Entry,
  options: MoveOptions,
  ends: Ends,
): Promise<void> {
  checkNotSame(paths, ends);
  await paths.requireUnlocked(from, 'tree');
  await paths.requireUnlocked(to, 'tree');
  if (entry.isFolder && !entry.isLink) await checkMembers(paths, from, to, ends);
  const existing = existingAt(ends.target, ends.targetName);
  if (existing) await checkReplaceable(paths, to, existing, ends, options.overwrite);
}

// Two virtual paths may lead to one real place: through virtual folders that overlap, or links.
function checkNotSame(paths: AccountPaths, ends: Ends): void {
  const source = `${ends.source.realPath}/${ends.sourceName}`;
  const target = `${ends.target.realPath}/${ends.targetName}`;
  if (source === target) throw new ServiceError('forbidden', 'Source and destination are the same.');
  if (isWithin(ends.target.realPath, source)) throw new ServiceError('forbidden', 'A folder cannot go into itself.');
  if (isWithin(ends.source.realPath, target)) throw new ServiceError('forbidden', 'The destination holds the source.');
  if (paths.mounts.roots.isHeldBy(source) || paths.mounts.roots.isHeldBy(target))
    throw new ServiceError('forbidden', 'The home folder and virtual folders cannot be moved or replaced.');
}

// Rules go by path, so a move must not carry a member to where other rules hold without `rename` there.
async function checkMembers(paths: AccountPaths, from: VirtualPath, to: VirtualPath, ends: Ends): Promise<void> {
  const { permissions } = paths.account;
  if (!permissions.hasRules) return;
  for await (const { relativePath } of walkTree(paths.mounts.roots, `${ends.source.realPath}/${ends.sourceName}`)) {
    if (relativePath === '') continue;
    for (const end of [from, to]) if (!permissions.allows(`${end}/${relativePath}` as VirtualPath, 'rename')) throw denied();
  }
}

/** @throws ServiceError `precondition-failed` when nothing may be replaced, `forbidden` when this must not be */
async function checkReplaceable(paths: AccountPaths, to: VirtualPath, existing: Stats, ends: Ends, overwrite: boolean): Promise<void> {
  if (!overwrite) throw destinationExists();
  if (existing.isDirectory()) {
    paths.requireAll(to, ['delete-file', 'delete-folder']);
    await paths.deletableFolders(to, `${ends.target.realPath}/${ends.targetName}`);
  } else {
    paths.requireAny(to, ['write', 'delete-file']);
    if (!existing.isFile() && !existing.isSymbolicLink()) throw new ServiceError('forbidden', 'The path is not a regular file.');
  }
}

/** Moves, and syncs both folders. @returns whether the destination was free */
async function relocate(paths: AccountPaths, from: VirtualPath, entry: Entry, ends: Ends, options: MoveOptions): Promise<boolean> {
  let put: { created: boolean; replaced: SetAside | undefined };
  try {
    put = putInPlace(paths, from, ends, options, entry, ends.source.member(ends.sourceName));
  } catch (error) {
    if (systemErrorCode(error) !== 'EXDEV') throw asServiceError(error);
    put = await relocateAcross(paths, from, entry, ends, options);
  }
  await fsyncAsync(ends.target.fd);
  await fsyncAsync(ends.source.fd);
  await put.replaced?.remove();
  return put.created;
}

/**
 * Gives what stands at `member` the destination's name, all in one turn: conditions, the way cleared, the rename.
 */
function putInPlace(
  paths: AccountPaths,
  from: VirtualPath,
  ends: Ends,
  options: MoveOptions,
  entry: Entry,
  member: string,
): { created: boolean; replaced: SetAside | undefined } {
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
  if (!existing || (!isFolder && !existing.isDirectory())) {
    renameSync(member, target);
    return { created: !existing, replaced: undefined };
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

async function relocateAcross(
  paths: AccountPaths,
  from: VirtualPath,
  entry: Entry,
  ends: Ends,
  options: MoveOptions,
): Promise<{ created: boolean; replaced: SetAside | undefined }> {
  const { temporaries } = paths.environment;
  const { roots } = paths.mounts;
  const hidden = temporaryName();
  const hiddenPath = `${ends.target.realPath}/${hidden}`;
  temporaries.add(hiddenPath);
  let source: SetAside | undefined;
  let put: { created: boolean; replaced: SetAside | undefined };
  try {
    const copied = await copyTree(roots, ends.source, ends.sourceName, ends.target.member(hidden));
    const current = paths.entryAt(from);
    if (!current) throw new ServiceError('not-found', 'Path not found.');
    options.verify?.(current);
    // From here on nothing new can come into the source, so what is removed below is what was copied.
    source = setAside(ends.source, ends.sourceName, roots, temporaries);
    checkUnchanged(copied, source);
    put = putInPlace(paths, from, ends, { overwrite: options.overwrite }, entry, ends.target.member(hidden));
    await fsyncAsync(ends.target.fd);
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

function existingAt(parent: OpenedFolder, name: string): Stats | undefined {
  return lstatSync(parent.member(name), { throwIfNoEntry: false });
}

function destinationExists(): ServiceError {
  return new ServiceError('precondition-failed', 'The destination exists and must not be overwritten.');
}
