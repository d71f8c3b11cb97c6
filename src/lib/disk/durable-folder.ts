import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemErrorCode } from '../errors.ts';

/** Makes the names in a folder durable: what was created, renamed or removed there outlives a power cut. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Creates a folder, and those above it that are missing, so that none is lost to a power cut together with what is stored in it.
 *
 * @param options.mode permissions of the folders that are created
 * @throws what `mkdirSync` throws
 */
export function makeFolders(path: string, options: { mode?: number } = {}): void {
  const first = mkdirSync(path, { ...options, recursive: true });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) syncNameOf(made);
}

/** Makes the name of a new folder durable. Who may write to its parent but not read it has no way to do so. */
export function syncNameOf(path: string): void {
  try {
    syncFolder(dirname(path));
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes(systemErrorCode(error) ?? '')) throw error;
  }
}
