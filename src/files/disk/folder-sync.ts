import { fstatSync, renameSync } from 'node:fs';
import { SharedRuns } from '../../lib/concurrency/shared-runs.ts';
import { fsyncAsync } from '../../lib/disk/descriptors.ts';

/** Folders that are being synced, by device and inode. */
const syncs = new Map<string, SharedRuns<number>>();

/**
 * Resolves when all current names in the folder are on disk. Calls during a sync of the same folder share the next sync. So a few syncs
 * are enough for many small uploads into one folder.
 *
 * @param fd descriptor of the folder, which must stay open until the promise settles
 * @throws the error of fsync(2); all calls that share the sync get it
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
 * Renames a member of a folder synchronously. The rename is on disk when the promise resolves. If the folder cannot be synced, the member
 * gets its old name back.
 *
 * @throws the errors of rename(2) and fsync(2)
 */
export async function renameMember(folder: { fd: number; member(name: string): string }, from: string, to: string): Promise<void> {
  renameSync(folder.member(from), folder.member(to));
  try {
    await syncOpenedFolder(folder.fd);
  } catch (error) {
    renameSync(folder.member(to), folder.member(from));
    throw error;
  }
}

/** Records the first disk fault after a change took effect. The change remains, but its event and its reply report the fault. */
export class Durability {
  #fault: unknown;

  /** The first fault; undefined if there was none. After a fault, the change may not survive a power cut. */
  get fault(): unknown {
    return this.#fault;
  }

  /** Syncs a folder. Never rejects. @param fd descriptor of the folder */
  syncFolder(fd: number): Promise<void> {
    return syncOpenedFolder(fd).catch((error) => {
      this.#fault ??= error;
    });
  }

  /** Runs another step that makes the change durable. Never rejects. */
  async attempt(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#fault ??= error;
    }
  }
}
