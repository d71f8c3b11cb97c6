import { randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, realpathSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError, systemErrorCode } from './errors.ts';

/** The service's own folder, held by one process. */
export interface DataFolder {
  /** Absolute path, links resolved. */
  readonly path: string;
  /** The server's UUID, made once and kept here. */
  serverUuid(): string;
  /** Gives the folder up to the next process. */
  release(): void;
}

interface Owner {
  pid: number;
  /** Start of the process in clock ticks since boot, which tells a process from a later one with its number. */
  started: string;
}

const lockName = 'svc.pid';

/**
 * Opens the data folder and takes it for this process (`svc.pid`). The lock of a process that died is taken over.
 *
 * @throws ServiceError `unavailable` when the folder cannot be written, or a living process holds it (`details.pid`)
 */
export function openDataFolder(folder: string): DataFolder {
  let path: string;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    path = realpathSync(folder);
    takeLock(path);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('unavailable', `The data folder ${folder} cannot be used: ${(error as Error).message}`, { cause: error });
  }
  return {
    path,
    serverUuid: () => keptUuid(join(path, 'server-uuid')),
    release() {
      if (readOwner(join(path, lockName))?.pid === process.pid) unlinkSync(join(path, lockName));
    },
  };
}

function takeLock(folder: string): void {
  const lockPath = join(folder, lockName);
  const own = join(folder, `${lockName}.${process.pid}.${randomBytes(4).toString('hex')}`);
  const owner: Owner = { pid: process.pid, started: startOf(process.pid) };
  writeFileSync(own, `${JSON.stringify(owner)}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // link(2) creates the name with its content in one step, and fails when it exists.
    while (!tryLink(own, lockPath)) {
      const holder = readOwner(lockPath);
      if (holder && isAlive(holder)) {
        throw new ServiceError('unavailable', `The data folder ${folder} is in use by process ${holder.pid}.`, {
          details: { pid: holder.pid },
        });
      }
      removeStale(lockPath, holder);
    }
  } finally {
    unlinkSync(own);
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

// The stale lock is renamed away before it is removed, and what was renamed is looked at again: of two processes that
// start at once, the slower one must not remove the fresh lock of the faster.
function removeStale(lockPath: string, stale: Owner | undefined): void {
  const aside = `${lockPath}.stale.${randomBytes(4).toString('hex')}`;
  try {
    renameSync(lockPath, aside);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return;
    throw error;
  }
  const moved = readOwner(aside);
  if (moved && isAlive(moved) && moved.pid !== stale?.pid) tryLink(aside, lockPath);
  unlinkSync(aside);
}

function readOwner(path: string): Owner | undefined {
  try {
    const value = JSON.parse(readFileSync(path, 'utf8')) as Partial<Owner>;
    return typeof value.pid === 'number' ? { pid: value.pid, started: value.started ?? '' } : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if (systemErrorCode(error) === 'ESRCH') return false;
  }
  return owner.started === '' || startOf(owner.pid) === owner.started;
}

/** Start time of a process (proc(5), field 22 of stat), empty where there is no /proc. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function keptUuid(path: string): string {
  try {
    const kept = readFileSync(path, 'utf8').trim();
    if (kept !== '') return kept;
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
  }
  const uuid = randomUUID();
  writeFileSync(path, `${uuid}\n`, { mode: 0o600 });
  return uuid;
}
