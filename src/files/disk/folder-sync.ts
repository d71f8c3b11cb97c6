import { fstatSync } from 'node:fs';
import { fsyncAsync } from '../../lib/disk/descriptors.ts';

interface Waiter {
  fd: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Callers who wait for the next sync of a folder that is being synced, by the folder's number. */
const waitingByFolder = new Map<string, Waiter[]>();

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
  const waiting = waitingByFolder.get(folder);
  if (waiting) return new Promise((resolve, reject) => waiting.push({ fd, resolve, reject }));
  waitingByFolder.set(folder, []);
  try {
    await fsyncAsync(fd);
  } finally {
    void syncWaiting(folder);
  }
}

async function syncWaiting(folder: string): Promise<void> {
  for (;;) {
    const waiters = waitingByFolder.get(folder) ?? [];
    const [first] = waiters;
    if (!first) break;
    waitingByFolder.set(folder, []);
    try {
      await fsyncAsync(first.fd);
      for (const waiter of waiters) waiter.resolve();
    } catch (error) {
      for (const waiter of waiters) waiter.reject(error);
    }
  }
  waitingByFolder.delete(folder);
}
