import { fstatSync } from 'node:fs';
import { SharedRuns } from '../../lib/concurrency/shared-runs.ts';
import { fsyncAsync } from '../../lib/disk/descriptors.ts';

/** Folders that are being synced, by device and inode. */
const syncs = new Map<string, SharedRuns<number>>();

/**
 * Resolves when all current names of the folder are on disk. Calls during a sync of the same folder share the next one: many small
 * uploads into one folder cost few syncs.
 *
 * @param fd of the folder, open until the promise settles
 * @throws the error of fsync(2), to all calls that share the sync
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

/** Keeps the first fault of the disk after a change took effect: such a fault does not undo the change, but its event and reply report it. */
export class Durability {
  #fault: unknown;

  /** Why the change may not survive a power cut; undefined if it will. */
  get fault(): unknown {
    return this.#fault;
  }

  /** Syncs a folder. Never rejects. @param fd of the folder */
  syncFolder(fd: number): Promise<void> {
    return syncOpenedFolder(fd).catch((error) => {
      this.#fault ??= error;
    });
  }

  /** Runs a further step. Never rejects. */
  async attempt(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#fault ??= error;
    }
  }
}
