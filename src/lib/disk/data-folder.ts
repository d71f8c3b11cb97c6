import { hash, randomBytes, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, linkSync, readFileSync, realpathSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError, systemErrorCode } from '../errors.ts';
import { openIfThere } from './descriptors.ts';
import { makeFolders, readTextIfThere, writeFileNow } from './durable-files.ts';
import { readingFault } from './named-file.ts';

/** The data folder of the service. Only one process can hold it at a time. */
export interface DataFolder {
  /** Absolute path, with symbolic links resolved. */
  readonly path: string;
  /** Returns the server's UUID, which is created once and kept in this folder. */
  serverUuid(): string;
  release(): void;
}

interface Owner {
  pid: number;
  /** Start time of the process in clock ticks since boot. It distinguishes the process from a later one with the same process ID. */
  started: string;
}

interface Lock {
  /** Undefined if a power failure damaged the file. The same power failure ended the process that held the lock. */
  owner: Owner | undefined;
  /** A value that distinguishes this lock from a later one with the same name. */
  fingerprint: string;
}

const lockName = 'svc.pid';

/**
 * Version of the data folder's format. It is increased with each change that an older svc cannot read. This svc reads all earlier formats.
 * A folder without the file `form` has format 1 (svc 0.1.0) or is new.
 */
const currentForm = 2;

/**
 * Opens the data folder and locks it for this process (`svc.pid`). The lock of a process that has ended is replaced.
 *
 * @throws ServiceError `unavailable` if the folder cannot be written, or if a running process holds it (`details.pid`)
 */
export function openDataFolder(folder: string): DataFolder {
  let path: string;
  try {
    makeFolders(folder, { mode: 0o700 });
    path = realpathSync(folder);
    takeLock(join(path, lockName), folder);
    checkForm(path, folder);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const { path: refused = folder } = error as NodeJS.ErrnoException;
    const reason = systemErrorCode(error) === 'EEXIST' ? 'it is a file, not a folder' : readingFault(refused, error);
    throw new ServiceError('unavailable', `The data folder ${folder} cannot be used: ${reason}.`, { cause: error });
  }
  return {
    path,
    serverUuid: () => readOrMakeUuid(join(path, 'server-uuid')),
    release() {
      const lockPath = join(path, lockName);
      if (readLock(lockPath)?.owner?.pid === process.pid) unlinkSync(lockPath);
    },
  };
}

function checkForm(path: string, folder: string): void {
  const formPath = join(path, 'form');
  const form = Number(readTextIfThere(formPath) ?? 1);
  if (form === currentForm) return;
  if (form > currentForm) {
    unlinkSync(join(path, lockName));
    const forms = `format ${form}; this one knows up to ${currentForm}`;
    throw new ServiceError(
      'unavailable',
      `The data folder ${folder} was written by a newer svc (${forms}); run the newer svc, or restore a backup.`,
    );
  }
  writeFileNow(formPath, `${currentForm}\n`, { mode: 0o600 });
}

/** Reads a data folder without locking it, for commands that may run while the service runs. */
export function peekDataFolder(folder: string): { ownerPid: number | undefined; serverUuid: string | undefined } {
  const owner = readLock(join(folder, lockName))?.owner;
  const serverUuid = readTextIfThere(join(folder, 'server-uuid'))?.trim() || undefined;
  return { ownerPid: owner && isAlive(owner) ? owner.pid : undefined, serverUuid };
}

function takeLock(lockPath: string, folder: string): void {
  const own = `${lockPath}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const owner: Owner = { pid: process.pid, started: processStart(process.pid) };
  writeFileSync(own, `${JSON.stringify(owner)}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // link(2) creates the lock file with its content in one step, and fails if the file exists.
    while (!tryLink(own, lockPath)) {
      const lock = readLock(lockPath);
      if (lock?.owner && isAlive(lock.owner)) {
        throw new ServiceError('unavailable', `The data folder ${folder} is in use by process ${lock.owner.pid}.`, {
          details: { pid: lock.owner.pid },
        });
      }
      if (lock) removeStale(lockPath, lock.fingerprint, folder);
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

// If two processes find the same stale lock, the slower one must not remove the new lock of the faster one. Each process therefore first
// takes another lock, whose name is derived from the stale one. Then it checks that the stale lock still exists.
function removeStale(lockPath: string, fingerprint: string, folder: string): void {
  const right = `${lockPath}.${fingerprint}`;
  takeLock(right, folder);
  try {
    if (readLock(lockPath)?.fingerprint === fingerprint) unlinkSync(lockPath);
  } finally {
    unlinkSync(right);
  }
}

function readLock(path: string): Lock | undefined {
  const fd = openIfThere(path);
  if (fd === undefined) return undefined;
  try {
    const { ino, mtimeNs } = fstatSync(fd, { bigint: true });
    const text = readFileSync(fd, 'utf8');
    return { owner: parseOwner(text), fingerprint: hash('sha256', `${ino} ${mtimeNs} ${text}`).slice(0, 16) };
  } finally {
    closeSync(fd);
  }
}

function parseOwner(text: string): Owner | undefined {
  try {
    const value = JSON.parse(text) as { pid?: unknown; started?: unknown } | null;
    const { pid, started } = value ?? {};
    // kill(2) interprets numbers below 1 as process groups.
    return typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 && typeof started === 'string' ? { pid, started } : undefined;
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
  return owner.started === '' || processStart(owner.pid) === owner.started;
}

/**
 * Returns the start time of a process (proc(5), field 22 of `stat`); empty if it cannot be read, for example on a system without `/proc`.
 */
function processStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function readOrMakeUuid(path: string): string {
  const kept = readTextIfThere(path)?.trim();
  if (kept) return kept;
  const uuid = randomUUID();
  writeFileNow(path, `${uuid}\n`, { mode: 0o600 });
  return uuid;
}
