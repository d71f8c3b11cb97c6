import { mkdirSync } from 'node:fs';
import { eventIds } from '../../events/event-ids.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { Durability } from '../disk/folder-sync.ts';
import { changeInParent } from '../disk/opened.ts';
import { asServiceError } from '../disk/system-errors.ts';

/**
 * Creates a folder; event `folderCreated` (on disk when the promise resolves), `folderAlreadyThere` when it exists, or `folderCreationFailed`.
 *
 * @param mode permission bits, before those that the process takes away (umask)
 */
export async function createFolder(paths: AccountPaths, path: VirtualPath, mode?: number): Promise<void> {
  const durability = new Durability();
  try {
    paths.require(path, 'createFolder');
    paths.environment.events.assertWritable();
    const location = paths.mounts.locate(path);
    if (location.isFixed) throw new ServiceError('exists', 'The folder already exists.');
    await paths.requireUnlocked(path, 'membership');
    await changeInParent(paths.mounts.roots, paths.writable(location), durability, (member) => mkdirSync(member, mode));
  } catch (error) {
    throw paths.reported(
      asServiceError(error).code === 'exists' ? eventIds.folderAlreadyThere : eventIds.folderCreationFailed,
      path,
      error,
    );
  }
  await paths.emitDurable(eventIds.folderCreated, path, {}, durability);
}
