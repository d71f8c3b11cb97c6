import { eventIds } from '../../events/event-ids.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { checkMove, moveEntry } from './move.ts';
import type { RandomUpload } from './random-upload.ts';
import type { MoveOptions } from './relocate.ts';
import { checkReplaceable } from './replacement.ts';

/**
 * Renames a file that is being uploaded, and the old one of its name with it; event `fileRenamed` or `renameFailed`.
 *
 * @throws ServiceError as `moveEntry`
 */
export async function renameUpload(paths: AccountPaths, upload: RandomUpload, to: VirtualPath, options: MoveOptions): Promise<void> {
  const from = upload.path;
  const target = paths.mounts.locate(to);
  if (paths.entryAt(from)) {
    // Its `fileUploaded` comes with the end of the upload.
    const moving = moveEntry(paths, from, to, { ...options, isTemporaryName: undefined });
    return onceDone(moving, () => upload.moveTo(to, paths.writable(target)));
  }
  try {
    checkMove(paths, from, to, options);
    if (target.isFixed) throw new ServiceError('fixed-folder', 'The home folder and virtual folders cannot be moved or replaced.');
    await paths.requireUnlocked(to, 'tree');
    const realTo = paths.writable(target);
    await checkReplaceable(paths, to, realTo, await upload.entry(), options);
    await upload.moveTo(to, realTo);
  } catch (error) {
    throw paths.reported(eventIds.renameFailed, from, error, { destination: to });
  }
  await paths.emitDurable(eventIds.fileRenamed, from, { destination: to });
}

/** Lets an upload follow a change of its path that was made, whether the disk keeps that or not. */
export async function onceDone(change: Promise<unknown>, follow: () => Promise<void> | void): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (isServiceError(error, 'not-durable')) await follow();
    throw error;
  }
  await follow();
}

/** Removes a file that was never there but as an upload; event `fileRemoved` or `fileRemovalFailed`. */
export async function removeUpload(paths: AccountPaths, upload: RandomUpload): Promise<void> {
  try {
    paths.require(upload.path, 'deleteFile');
    paths.environment.events.assertWritable();
    upload.remove();
  } catch (error) {
    throw paths.reported(eventIds.fileRemovalFailed, upload.path, error);
  }
  await paths.emitDurable(eventIds.fileRemoved, upload.path);
}
