import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, linkSync, openSync, readFileSync, realpathSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ServiceError, systemErrorCode } from '../errors.ts';
import { makeFolders, syncFolder } from './durable-files.ts';

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

/** A lock file as it was read. */
interface Lock {
  /** Undefined when the file is damaged, as a power cut may leave it; then its process is gone, too. */
  owner: Owner | undefined;
  /** Tells this very lock from a later one of the same name. */
  mark: string;
}

const lockName = 'svc.pid';

/**
 * The form in which data folders are written. It rises whenever an older svc could not go on with what a newer one wrote; every form
 * before is read. Without its file the folder is of form 1 (0.1.0) or new.
 */
const ownForm = 2;

/**
 * Opens the data folder and takes it for this process (`svc.pid`). The lock of a process that died is taken over.
 *
 * @throws ServiceError `unavailable` when the folder cannot be written, or a living process holds it (`details.pid`)
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
    const reason = systemErrorCode(error) === 'EEXIST' ? 'it is a file, not a folder.' : (error as Error).message;
    throw new ServiceError('unavailable', `The data folder ${folder} cannot be used: ${reason}`, { cause: error });
  }
  return {
    path,
    serverUuid: () => keptUuid(join(path, 'server-uuid')),
    release() {
      const lockPath = join(path, lockName);
      if (readLock(lockPath)?.owner?.pid === process.pid) unlinkSync(lockPath);
    },
  };
}

function checkForm(path: string, folder: string): void {
  const formPath = join(path, 'form');
  let form = 1;
  try {
    form = Number(readFileSync(formPath, 'utf8'));
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
  }
  if (form === ownForm) return;
  if (form > ownForm) {
    unlinkSync(join(path, lockName));
    throw new ServiceError(
      'unavailable',
      `The data folder ${folder} was written by a newer svc (form ${form}; this one knows up to ${ownForm}).`,
    );
  }
  writeWhole(formPath, `${ownForm}\n`);
}

/** Looks at a data folder without taking it, for commands beside a running service. */
export function peekDataFolder(folder: string): { ownerPid: number | undefined; serverUuid: string | undefined } {
  const owner = readLock(join(folder, lockName))?.owner;
  let serverUuid: string | undefined;
  try {
    serverUuid = readFileSync(join(folder, 'server-uuid'), 'utf8').trim() || undefined;
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
  }
  return { ownerPid: owner && isAlive(owner) ? owner.pid : undefined, serverUuid };
}

function takeLock(lockPath: string, folder: string): void {
  const own = `${lockPath}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const owner: Owner = { pid: process.pid, started: startOf(process.pid) };
  writeFileSync(own, `${JSON.stringify(owner)}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // link(2) creates the name with its content in one step, and fails when it exists.
    while (!tryLink(own, lockPath)) {
      const lock = readLock(lockPath);
      if (lock?.owner && isAlive(lock.owner)) {
        throw new ServiceError('unavailable', `The data folder ${folder} is in use by process ${lock.owner.pid}.`, {
          details: { pid: lock.owner.pid },
        });
      }
      if (lock) removeStale(lockPath, lock.mark, folder);
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

// Of two processes that find the same stale lock, the slower one must not remove the new lock of the faster one. So only who
// holds the right to remove this very lock, itself a lock, removes it, after looking whether it is still there.
function removeStale(lockPath: string, mark: string, folder: string): void {
  const right = `${lockPath}.${mark}`;
  takeLock(right, folder);
  try {
    if (readLock(lockPath)?.mark === mark) unlinkSync(lockPath);
  } finally {
    unlinkSync(right);
  }
}

/** @returns undefined when there is none */
function readLock(path: string): Lock | undefined {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { ino, mtimeNs } = fstatSync(fd, { bigint: true });
    const text = readFileSync(fd, 'utf8');
    const mark = createHash('sha256').update(`${ino} ${mtimeNs} ${text}`).digest('hex').slice(0, 16);
    return { owner: parseOwner(text), mark };
  } finally {
    closeSync(fd);
  }
}

function parseOwner(text: string): Owner | undefined {
  try {
    const value = JSON.parse(text) as { pid?: unknown; started?: unknown } | null;
    const { pid, started } = value ?? {};
    // Numbers below 1 address groups of processes (kill(2)), not one.
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
  writeWhole(path, `${uuid}\n`);
  return uuid;
}

/** Writes a file that has either its content or no name, whatever happens. */
function writeWhole(path: string, text: string): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
  renameSync(temporary, path);
  syncFolder(dirname(path));
}
