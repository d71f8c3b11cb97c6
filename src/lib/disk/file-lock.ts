import { readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import { ServiceError, systemErrorCode } from '../errors.ts';

/** Age in milliseconds at which a lock counts as abandoned by a dead process. Writing a small file takes only milliseconds. */
const staleAfterMs = 10_000;
const retryEveryMs = 20;
const giveUpAfterMs = 15_000;

/**
 * Runs an action while this process holds a lock file (`<path>.lock`, created exclusively). The lock works for all processes and nodes that
 * share the file system.
 *
 * @throws ServiceError `unavailable` if another process holds the lock for too long, or if the lock file cannot be created
 */
export async function withFileLock<T>(path: string, clock: Clock, action: () => Promise<T>): Promise<T> {
  const lockPath = `${path}.lock`;
  const token = `${process.pid} ${clock.nowMs()} ${Math.random()}`;
  const startedMs = clock.monotonicMs();
  while (!tryCreate(lockPath, token)) {
    if (clock.monotonicMs() - startedMs > giveUpAfterMs) throw new ServiceError('unavailable', `${lockPath} is held by another process.`);
    removeStale(lockPath, clock);
    await clock.sleep(retryEveryMs);
  }
  try {
    return await action();
  } finally {
    removeOwn(lockPath, token);
  }
}

// Never throws, because the action is over. A lock file that cannot be removed becomes stale.
function removeOwn(lockPath: string, token: string): void {
  try {
    if (readFileSync(lockPath, 'utf8') === token) unlinkSync(lockPath);
  } catch {
    // Another process has removed it, or the disk fails.
  }
}

function tryCreate(lockPath: string, token: string): boolean {
  try {
    writeFileSync(lockPath, token, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    throw new ServiceError('unavailable', `${lockPath}: ${(error as Error).message}`, { cause: error });
  }
}

function removeStale(lockPath: string, clock: Clock): void {
  const stats = statSync(lockPath, { throwIfNoEntry: false });
  if (stats && clock.nowMs() - stats.mtimeMs >= staleAfterMs) rmSync(lockPath, { force: true });
}
