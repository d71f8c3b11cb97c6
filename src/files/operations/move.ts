import { basename } from 'node:path';
import { eventIds } from '../../events/event-ids.ts';
import { ServiceError } from '../../lib/errors.ts';
import { baseName, isWithin, type VirtualPath } from '../../lib/virtual-path.ts';
import { type AccountPaths, denied } from '../account-paths.ts';
import { Durability } from '../disk/folder-sync.ts';
import { openParent } from '../disk/opened.ts';
import { checkPathLength } from '../disk/system-errors.ts';
import { walkTree } from '../disk/walk-tree.ts';
import type { Entry } from '../entry.ts';
import { neededRights } from '../needed-rights.ts';
import { endUploadsBelow } from '../uploads/end-upload.ts';
import { type Moved, type MoveEnds, type MoveOptions, relocate } from './relocate.ts';
import { checkFree, checkReplaceable } from './replacement.ts';

/**
 * Moves a file or a folder. A file at the destination is replaced atomically; a folder is set aside first and comes back when
 * the move fails. Between file systems: copied to a hidden place beside the destination, synced, put in place, and only
 * then is the source removed, so that a failure at any moment leaves the source whole.
 *
 * Permissions (docs/spec/webdav.md#replacing): `rename` on both ends, on every member of a folder too; to replace something also what
 * `checkReplaceable` asks for. Events `fileMoveStarted` or `folderMoveStarted`, then `folderRemoved` for a folder that was replaced and `fileRenamed` or `folderRenamed`, on disk when the
 * promise resolves, and `fileUploaded` for a file that had a temporary name; or `renameFailed`.
 *
 * @returns whether the destination was free before
 * @throws ServiceError `forbidden`, `not-found`, `parent-missing`, `destination-exists`, `exists` for a file and a folder, `locked`
 */
export async function moveEntry(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  options: MoveOptions,
): Promise<{ created: boolean }> {
  const data = { destination: to };
  const durability = new Durability();
  let ends: MoveEnds | undefined;
  let moved: Moved & { isFolder: boolean; sizeBytes: number; source: string; target: string };
  const endMove = paths.environment.quotas.beginMove(paths.mounts.roots);
  try {
    checkMove(paths, from, to, options);
    const { realFrom, realTo } = realEnds(paths, from, to);
    const entry = paths.entryAt(from);
    if (!entry) throw new ServiceError('not-found', 'Path not found.');
    options.verify?.(entry);
    ends = openEnds(paths, realFrom, realTo);
    await checkChange(paths, from, to, entry, options, ends);
    paths.emit(entry.isFolder ? eventIds.folderMoveStarted : eventIds.fileMoveStarted, from, data);
    moved = {
      ...(await relocate(paths, from, to, entry, ends, options, durability)),
      isFolder: entry.isFolder,
      sizeBytes: entry.sizeBytes,
      source: `${ends.source.realPath}/${ends.sourceName}`,
      target: `${ends.target.realPath}/${ends.targetName}`,
    };
    if (moved.replaced) paths.environment.quotas.removed(paths.mounts.roots);
  } catch (error) {
    throw paths.reported(eventIds.renameFailed, from, error, data);
  } finally {
    ends?.source.close();
    ends?.target.close();
    endMove();
  }
  await paths.forgetLocks(from);
  const replaced = moved.replaced ? true : undefined;
  const told = [paths.draft(moved.isFolder ? eventIds.folderRenamed : eventIds.fileRenamed, from, { ...data, replaced })];
  if (moved.replaced === 'folder') told.unshift(paths.draft(eventIds.folderRemoved, to));
  const { isTemporaryName = () => false } = options;
  if (!moved.isFolder && isTemporaryName(baseName(from)) && !isTemporaryName(baseName(to)))
    told.push(paths.draft(eventIds.fileUploaded, to, { total_write: moved.sizeBytes, uploaded_as: from, replaced }));
  try {
    await paths.emitDone(durability, told);
  } finally {
    if (moved.isFolder) await endUploadsBelow(paths, moved.source, moved.target);
  }
  return { created: !moved.replaced };
}

/**
 * What is asked of every move before anything is looked at, of an upload under way as of a file.
 *
 * @throws ServiceError `forbidden`, `destination-exists`, or as `checkNesting`
 */
export function checkMove(paths: AccountPaths, from: VirtualPath, to: VirtualPath, options: MoveOptions): void {
  paths.require(from, 'rename');
  paths.require(to, 'rename');
  paths.environment.events.assertWritable();
  checkFree(paths, to, options);
  checkNesting(from, to);
}

/** @throws ServiceError `destination-overlaps` for a move to itself, into itself, or onto what holds it (RFC 4918 §9.9.4) */
export function checkNesting(from: VirtualPath, to: VirtualPath): void {
  if (from === to) throw new ServiceError('destination-overlaps', 'Source and destination are the same.');
  if (isWithin(to, from)) throw new ServiceError('destination-overlaps', 'A folder cannot go into itself.');
  if (isWithin(from, to)) throw new ServiceError('destination-overlaps', 'The destination holds the source.');
}

function realEnds(paths: AccountPaths, from: VirtualPath, to: VirtualPath): { realFrom: string; realTo: string } {
  const source = paths.mounts.locate(from);
  const target = paths.mounts.locate(to);
  if (source.isFixed || target.isFixed)
    throw new ServiceError('fixed-folder', 'The home folder and virtual folders cannot be moved or replaced.');
  return { realFrom: paths.real(source), realTo: paths.writable(target) };
}

function openEnds(paths: AccountPaths, realFrom: string, realTo: string): MoveEnds {
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
  ends: MoveEnds,
): Promise<void> {
  checkNotSame(paths, ends);
  await paths.requireUnlocked(from, 'tree');
  await paths.requireUnlocked(to, 'tree');
  if (entry.isFolder && !entry.isLink) await checkMembers(paths, from, to, ends);
  await checkReplaceable(paths, to, `${ends.target.realPath}/${ends.targetName}`, entry, options);
}

// Two virtual paths may lead to one real place: through virtual folders that overlap, or links.
function checkNotSame(paths: AccountPaths, ends: MoveEnds): void {
  const source = `${ends.source.realPath}/${ends.sourceName}`;
  const target = `${ends.target.realPath}/${ends.targetName}`;
  if (source === target) throw new ServiceError('destination-overlaps', 'Source and destination are the same.');
  if (isWithin(ends.target.realPath, source)) throw new ServiceError('destination-overlaps', 'A folder cannot go into itself.');
  if (isWithin(ends.source.realPath, target)) throw new ServiceError('destination-overlaps', 'The destination holds the source.');
  if (paths.mounts.roots.isHeldBy(source) || paths.mounts.roots.isHeldBy(target))
    throw new ServiceError('fixed-folder', 'The home folder and virtual folders cannot be moved or replaced.');
}

// Rules go by path, so a move must not carry a member to where other rules hold without `rename` there. Nor must it take one out of a quota,
// which counts what has a path: where paths become longer.
async function checkMembers(paths: AccountPaths, from: VirtualPath, to: VirtualPath, ends: MoveEnds): Promise<void> {
  const { permissions, quotaSizeBytes } = paths.account;
  const [source, target] = [`${ends.source.realPath}/${ends.sourceName}`, `${ends.target.realPath}/${ends.targetName}`];
  const mayLeaveQuota = quotaSizeBytes > 0 && Buffer.byteLength(target) > Buffer.byteLength(source);
  if (!permissions.hasRules && !mayLeaveQuota) return;
  for await (const { relativePath } of walkTree(paths.mounts.roots, source)) {
    if (relativePath === '') continue;
    checkPathLength(`${target}/${relativePath}`);
    for (const end of [from, to]) if (!permissions.allowsAny(`${end}/${relativePath}` as VirtualPath, neededRights.rename)) throw denied();
  }
}
