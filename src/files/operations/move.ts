import { basename } from 'node:path';
import { eventIds } from '../../events/event-ids.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { isWithin, memberPath, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { type AccountPaths, denied } from '../account-paths.ts';
import { Durability } from '../disk/folder-sync.ts';
import { freeName } from '../disk/new-names.ts';
import { FollowedFolder, openParent } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { checkPathLength } from '../disk/system-errors.ts';
import { walkTree } from '../disk/walk-tree.ts';
import { isHeld } from '../inspections/gate.ts';
import { renameHeld } from '../inspections/own-held.ts';
import { neededRights } from '../needed-rights.ts';
import { endUploadsBelow } from '../uploads/end-upload.ts';
import type { RandomUpload } from './random-upload.ts';
import { endsUpload, type Move, type MoveEnd, type MoveOptions, type Replaced, relocate } from './relocate.ts';
import { checkFree, checkReplaceable } from './replacement.ts';

/**
 * Moves a file or a folder. A file at the destination is replaced atomically. A folder at the destination is set aside first, and restored
 * if the move fails. Between file systems, the source is copied to a hidden name beside the destination; the copy is synced and renamed.
 * The source is removed only after that. So the complete content exists even after a failure.
 *
 * Permissions (docs/spec/webdav.md#replacing): `rename` on both paths, and for a folder, on every member; to replace a destination, also
 * the rights that `checkReplaceable` requires. Emits `fileMoveStarted` or `folderMoveStarted`. Then emits `folderRemoved` for a replaced
 * folder, `fileRenamed` or `folderRenamed`, and `fileUploaded` for a file that had a temporary name; all are on disk when the promise
 * resolves. If the move fails, emits `renameFailed`.
 *
 * @returns whether the destination was free before
 * @throws ServiceError `forbidden`, `not-found`, `parent-missing`, `destination-exists`, `exists` if only the source or only the
 *   destination is a folder, `locked`
 */
export async function moveEntry(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  options: MoveOptions,
): Promise<{ created: boolean }> {
  for (;;) {
    const free = options.mayNumber ? freePath(paths, to) : to;
    try {
      return await moveTo(paths, from, free, free === to ? options : { ...options, mayReplace: 'nothing' });
    } catch (error) {
      // Another request took the numbered name; the next number is tried.
      if (free === to || !isServiceError(error, 'destination-exists', 'name-taken')) throw error;
    }
  }
}

/** Returns the path; or a numbered path, if the path is a file that must not be replaced and `on_name_taken` is `number`. */
function freePath(paths: AccountPaths, path: VirtualPath): VirtualPath {
  const { account, environment, mounts } = paths;
  const current = paths.entryAt(path);
  if (!current || current.isFolder || account.onNameTaken !== 'number') return path;
  const realPath = paths.writable(mounts.locate(path));
  const mayReplace = account.permissions.allowsAny(path, neededRights.replaceFile);
  if (mayReplace && environment.retention.untilMs(realPath) === undefined) return path;
  const folder = openParent(mounts.roots, realPath);
  try {
    return memberPath(parentPath(path), freeName(folder, basename(realPath)));
  } finally {
    folder.close();
  }
}

async function moveTo(paths: AccountPaths, from: VirtualPath, to: VirtualPath, options: MoveOptions): Promise<{ created: boolean }> {
  const { roots, accountRoots } = paths.mounts;
  const usage = paths.environment.quotas.usage(accountRoots);
  const data = { destination: to };
  const durability = new Durability();
  let source: MoveEnd | undefined;
  let target: MoveEnd | undefined;
  let move: Move;
  let replaced: Replaced;
  const followed = new FollowedFolder();
  const endMove = usage.beginMove();
  try {
    checkMove(paths, from, to, options);
    const { realFrom, realTo } = realEnds(paths, from, to);
    const entry = paths.entryAt(from);
    if (!entry) throw (await renameHeld(paths, from, to, options)) ?? new ServiceError('not-found', 'Path not found.');
    options.verify?.(entry);
    source = openEnd(roots, realFrom);
    target = openEnd(roots, realTo);
    move = { paths, from, to, entry, source, target, options, durability, followed };
    await checkEnds(move);
    paths.emit(entry.isFolder ? eventIds.folderMoveStarted : eventIds.fileMoveStarted, from, data);
    replaced = await relocate(move);
    if (replaced.kind) usage.removed();
  } catch (error) {
    followed.close();
    if (isHeld(error)) {
      await paths.forgetLocks(from);
      throw error;
    }
    throw paths.reported(eventIds.renameFailed, from, error, data);
  } finally {
    source?.folder.close();
    target?.folder.close();
    endMove();
  }
  await paths.forgetLocks(from);
  const { isFolder, sizeBytes } = move.entry;
  const { kind, trashed } = replaced;
  const arrived = { replaced: kind && true, trashed };
  const drafts = [paths.draft(isFolder ? eventIds.folderRenamed : eventIds.fileRenamed, from, { ...data, ...arrived })];
  if (kind === 'folder') drafts.unshift(paths.draft(eventIds.folderRemoved, to, { trashed }));
  if (endsUpload(move)) drafts.push(paths.draft(eventIds.fileUploaded, to, { total_write: sizeBytes, uploaded_as: from, ...arrived }));
  try {
    await paths.emitDone(durability, drafts);
  } finally {
    if (isFolder) await takeUploadsAlong(move, followed);
    followed.close();
  }
  return { created: !kind };
}

/** Ends the unfinished uploads of a moved folder, and updates the paths of its held uploads, even if the folder was moved again. */
async function takeUploadsAlong({ paths, from, to, source, target }: Move, followed: FollowedFolder): Promise<void> {
  const contentIn = () => followed.path ?? target.realPath;
  const { held, log } = paths.environment;
  await endUploadsBelow(paths, source.realPath, { isGone: false, contentIn });
  const now = () => {
    const realPath = contentIn();
    return { realPath, path: realPath === target.realPath ? to : (paths.mounts.virtualPathsOf(realPath)[0] ?? to) };
  };
  // The error is not thrown, because the folder has already been moved.
  await held.follow(source.realPath, from, now).catch((reason) => log.warn('held uploads could not follow their folder', { reason }));
}

/**
 * Renames a file that is being uploaded. If the upload would replace an older file, that file is renamed, too. Emits `fileRenamed` or
 * `renameFailed`.
 *
 * @throws ServiceError as `moveEntry`
 */
export async function renameUpload(paths: AccountPaths, upload: RandomUpload, to: VirtualPath, options: MoveOptions): Promise<void> {
  const from = upload.path;
  const target = paths.mounts.locate(to);
  if (paths.entryAt(from) && paths.nameRules(from).mayReplace) {
    // Without `finalName`, the move does not emit `fileUploaded`. This event follows at the end of the upload.
    const moving = moveEntry(paths, from, to, { ...options, finalName: undefined });
    return followChange(moving, () => upload.moveTo(to, paths.writable(target)));
  }
  const data = { destination: to };
  const rename = async () => {
    // If the name is taken, the number is added at the end of the upload.
    const isNumbered = options.mayNumber === true && freePath(paths, to) !== to;
    checkMove(paths, from, to, isNumbered ? { ...options, mayReplace: 'file' } : options);
    if (target.isFixed) throw fixedFolder();
    await paths.requireUnlocked(to, 'tree');
    const realTo = paths.writable(target);
    if (!isNumbered) await checkReplaceable(paths, to, realTo, await upload.entry(), options);
    await upload.moveTo(to, realTo);
  };
  await paths.orReportAsync(eventIds.renameFailed, from, rename, data);
  await paths.emitDurable(eventIds.fileRenamed, from, data);
}

/** Waits for a change of paths, and then updates an upload (`follow`), even if the change is not durable or inspections hold the file. */
export async function followChange(change: Promise<unknown>, follow: () => Promise<void> | void): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (isServiceError(error, 'not-durable') || isHeld(error)) await follow();
    throw error;
  }
  await follow();
}

function checkMove(paths: AccountPaths, from: VirtualPath, to: VirtualPath, options: MoveOptions): void {
  paths.require(from, 'rename');
  paths.require(to, 'rename');
  paths.environment.events.assertWritable();
  checkFree(paths, to, options);
  checkNesting(from, to);
}

/**
 * @throws ServiceError `destination-overlaps` if an item would be moved onto itself, into itself, or onto a parent folder (RFC 4918 §9.9.4)
 */
export function checkNesting(source: string, target: string): void {
  if (source === target) throw new ServiceError('destination-overlaps', 'Source and destination are the same.');
  if (isWithin(target, source)) throw new ServiceError('destination-overlaps', 'A folder cannot be copied or moved into itself.');
  if (isWithin(source, target)) throw new ServiceError('destination-overlaps', 'The destination contains the source.');
}

function realEnds(paths: AccountPaths, from: VirtualPath, to: VirtualPath): { realFrom: string; realTo: string } {
  const source = paths.mounts.locate(from);
  const target = paths.mounts.locate(to);
  if (source.isFixed || target.isFixed) throw fixedFolder();
  return { realFrom: paths.real(source), realTo: paths.writable(target) };
}

function fixedFolder(): ServiceError {
  return new ServiceError('fixed-folder', 'The home folder and virtual folders cannot be moved or replaced.');
}

function openEnd(roots: RealRoots, realPath: string): MoveEnd {
  const folder = openParent(roots, realPath);
  const name = basename(realPath);
  return { folder, name, realPath: `${folder.realPath}/${name}` };
}

async function checkEnds(move: Move): Promise<void> {
  const { paths, from, to, entry, source, target, options } = move;
  const { accountRoots: roots } = paths.mounts;
  // The real paths are checked, too, because overlapping virtual folders or symbolic links may lead to the same real path.
  checkNesting(source.realPath, target.realPath);
  if (roots.isHeldBy(source.realPath) || roots.isHeldBy(target.realPath)) throw fixedFolder();
  await paths.requireUnlocked(from, 'tree');
  await paths.requireUnlocked(to, 'tree');
  if (!entry.isFolder) paths.environment.retention.requireFree(source.folder.member(source.name));
  if (entry.isFolder && !entry.isLink) await checkMembers(move);
  await checkReplaceable(paths, to, target.realPath, entry, options);
}

// Permission rules apply to paths, so `rename` is checked for the old and new path of each member. Path lengths are checked because a quota
// does not count files whose paths are too long to be opened.
async function checkMembers({ paths, from, to, source, target }: Move): Promise<void> {
  const { permissions, quotaSizeBytes } = paths.account;
  const { retention } = paths.environment;
  const mayLeaveQuota = quotaSizeBytes > 0 && Buffer.byteLength(target.realPath) > Buffer.byteLength(source.realPath);
  if (!permissions.hasRules && !mayLeaveQuota && !retention.isUsed) return;
  for await (const { relativePath, isFolder, boundPath } of walkTree(paths.mounts.roots, source.realPath)) {
    if (relativePath === '') continue;
    if (!isFolder) retention.requireFree(boundPath);
    checkPathLength(`${target.realPath}/${relativePath}`);
    for (const end of [from, to]) if (!permissions.allowsAny(`${end}/${relativePath}` as VirtualPath, neededRights.rename)) throw denied();
  }
}
