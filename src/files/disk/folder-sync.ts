import { fstatSync } from 'node:fs';
import { fsyncAsync } from '../../lib/disk/descriptors.ts';
import { SharedRuns } from '../../lib/turns/shared-runs.ts';

/** Folders that are being synced, by their number. */
const syncs = new Map<string, SharedRuns<number>>();

/**
 * Resolves when all names that the folder has now are on disk. Who comes while a sync of the same folder runs shares the
 * next one: many small uploads into one folder cost few syncs.
 *
 * @param fd of the folder, open until the promise settles
 * @throws what fsync(2) reports, to all who shared the sync
 */
export async function syncOpenedFolder(fd: number): Promise<void> {
  const { dev, ino } = fstatSync(fd);
  const folder = `${dev}-${ino}`;
  const sync = syncs.get(folder) ?? new SharedRuns(fsyncAsync);
  syncs.set(folder, sync);
  try {
    await sync.run(fd);
  } finally {
    if (!sync.isRunning) syncs.delete(folder);
  }
}
