import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open, rename, statfs, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemErrorCode } from '../errors.ts';
import { closeAsync, fsyncAsync, openAsync, openIfThere } from './descriptors.ts';

/** Syncs a folder, so that a power failure cannot undo the creation, renaming or removal of files in it. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Creates a folder and its missing parents, and syncs them, so that they survive a power failure.
 *
 * @param options.mode permissions of the folders that are created
 * @returns whether any folder was created
 * @throws the errors of `mkdirSync` and `syncFolder`
 */
export function makeFolders(path: string, options: { mode?: number } = {}): boolean {
  const first = mkdirSync(path, { ...options, recursive: true });
  if (first === undefined) return false;
  for (let made = path; made.length >= first.length; made = dirname(made)) syncParentFolder(made);
  return true;
}

/** Syncs the parent of a new folder. Does nothing if the process may not read the parent, because only a readable folder can be synced. */
export function syncParentFolder(path: string): void {
  try {
    syncFolder(dirname(path));
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes(systemErrorCode(error) ?? '')) throw error;
  }
}

/** Thrown if a file was written, renamed or removed, but could not be synced. */
export class UnsyncedChange extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/**
 * Writes a small file so that after a crash it has either the old content or the complete new content. Writes a temporary file, syncs it,
 * renames it, and syncs the folder.
 *
 * @param options.mode permissions of the file, for example 0o600
 * @throws a system error if the file still has its old content; UnsyncedChange if it has the new content, which a power failure may undo
 */
export async function writeFileAtomically(path: string, data: string | Buffer, options: { mode: number }): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const file = await open(temporary, 'wx', options.mode);
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncParent(path);
}

/**
 * Like `writeFileAtomically`, but synchronous. It is used only for files that are rarely written: while svc starts, for placeholder
 * certificates at a reload, and for the mark of retentions.
 *
 * @throws the errors of `writeFileSync`, `renameSync` and `syncFolder`
 */
export function writeFileNow(path: string, text: string, options: { mode: number }): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    writeFileSync(temporary, text, { ...options, flag: 'wx', flush: true });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** Reads a text file. @returns undefined if it does not exist */
export function readTextIfThere(path: string): string | undefined {
  const fd = openIfThere(path);
  if (fd === undefined) return undefined;
  try {
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** Removes a file if it exists, and syncs its folder. @throws UnsyncedChange if a power failure may bring the file back */
export async function removeDurably(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
  }
  await syncParent(path);
}

async function syncParent(path: string): Promise<void> {
  try {
    const fd = await openAsync(dirname(path), 'r');
    try {
      await fsyncAsync(fd);
    } finally {
      await closeAsync(fd);
    }
  } catch (error) {
    throw new UnsyncedChange(error);
  }
}

/** Returns the number of free bytes on the disk of a folder, without the bytes that are reserved for root. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
