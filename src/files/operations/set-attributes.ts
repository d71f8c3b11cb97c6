import { chmodSync, closeSync, fchmodSync, fstatSync, futimesSync, utimesSync } from 'node:fs';
import { eventIds } from '../../events/event-ids.ts';
import { toSeconds } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { descriptorPath, descriptorsNameFiles, openToLook } from '../disk/real-roots.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { ownHeldAt } from '../inspections/own-held.ts';

export interface AttributeChange {
  /** Access and modification time, Unix time in milliseconds. */
  times?: { accessedMs: number; modifiedMs: number } | undefined;
  /** Permission bits. Bits above 0o777 (set-id bits) are never set. */
  mode?: number | undefined;
  /** Owner and group. They must be the current ones, because they cannot be changed. */
  owner?: { uid: number; gid: number } | undefined;
}

/** Event data of a change of attributes. */
export function changeData({ times, mode }: AttributeChange): Record<string, unknown> {
  return {
    modified: times && times.modifiedMs / 1000,
    permissions: mode === undefined ? undefined : (mode & 0o777).toString(8).padStart(3, '0'),
  };
}

/** @throws ServiceError `never-allowed` if the owner would change */
export function checkOwner(owner: AttributeChange['owner'], current: { uid: number; gid: number }): void {
  if (owner && (owner.uid !== current.uid || owner.gid !== current.gid))
    throw new ServiceError('never-allowed', 'The owner of a file cannot be changed.');
}

export function applyToOpened(fd: number, { times, mode }: AttributeChange): void {
  if (mode !== undefined) fchmodSync(fd, mode & 0o777);
  if (times) futimesSync(fd, toSeconds(times.accessedMs), toSeconds(times.modifiedMs));
}

/**
 * Sets times and mode of a file or folder. Emits `sftpAttributesSet`, which is on disk when the promise resolves, or
 * `sftpAttributesSetFailed`. The attributes themselves are not synced; the file system writes them within seconds.
 *
 * @throws ServiceError `forbidden` without `set-attributes`, `never-allowed` for another owner, `not-found`
 */
export async function setAttributes(paths: AccountPaths, path: VirtualPath, change: AttributeChange): Promise<void> {
  const data = changeData(change);
  const set = async () => {
    paths.require(path, 'setAttributes');
    paths.environment.events.assertWritable();
    await paths.requireUnlocked(path, 'content');
    const held = await ownHeldAt(paths, path);
    applyTo(paths, held?.upload.contentPath ?? paths.real(paths.mounts.locate(path)), change);
  };
  await paths.orReportAsync(eventIds.sftpAttributesSetFailed, path, set, data);
  await paths.emitDurable(eventIds.sftpAttributesSet, path, data);
}

function applyToPath(path: string, { times, mode }: AttributeChange): void {
  if (mode !== undefined) chmodSync(path, mode & 0o777);
  if (times) utimesSync(path, toSeconds(times.accessedMs), toSeconds(times.modifiedMs));
}

// The path is opened with O_PATH, which needs no right to read the file. Such a descriptor accepts changes only through its path in /proc.
function applyTo(paths: AccountPaths, realPath: string, change: AttributeChange): void {
  const { fd, realPath: resolved } = paths.mounts.roots.openVerified(realPath, openToLook);
  try {
    paths.environment.retention.requireFree(resolved);
    const stats = fstatSync(fd);
    if (!stats.isFile() && !stats.isDirectory()) throw new ServiceError('not-found', 'Path not found.');
    checkOwner(change.owner, stats);
    if (descriptorsNameFiles) applyToPath(descriptorPath(fd), change);
    else applyToOpened(fd, change);
  } catch (error) {
    throw asServiceError(error);
  } finally {
    closeSync(fd);
  }
}
