import { fstatSync } from 'node:fs';
import { SharedRuns } from '../../lib/concurrency/shared-runs.ts';
import { fsyncAsync } from '../../lib/disk/descriptors.ts';

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

/**
 * One change of the files, from the moment it took effect. A fault of the disk does not undo it then: it is kept for who tells of the change,
 * and nobody may take it for a change that was not made.
 */
export class Durability {
  #fault: unknown;

  /** Why the change may not outlive a power cut; undefined for nothing. */
  get fault(): unknown {
    return this.#fault;
  }

  /** Has the names of a folder on disk, as far as the disk can. Never rejects. @param fd of the folder */
  syncFolder(fd: number): Promise<void> {
    return this.attempt(() => syncOpenedFolder(fd));
  }

  /** Takes one more step, whose fault is kept. Never rejects. */
  async attempt(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#fault ??= error;
    }
  }
}
