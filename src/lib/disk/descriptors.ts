import { close, fdatasync, fsync, ftruncate, futimes, open, openSync, read, readFileSync, readv, write, writev } from 'node:fs';
import { promisify } from 'node:util';
import { systemErrorCode } from '../errors.ts';

/*
 * Calls of `node:fs` on descriptors, as promises: those of `node:fs/promises` go by objects of their own, which a descriptor that was
 * opened synchronously does not have, and which cost more.
 */
export const openAsync = promisify(open);
export const closeAsync = promisify(close);
export const readAsync = promisify(read);
export const writeAsync = promisify(write);
export const fsyncAsync = promisify(fsync);
export const fdatasyncAsync = promisify(fdatasync);
export const futimesAsync = promisify(futimes);
export const ftruncateAsync = promisify(ftruncate);
export const readvAsync = promisify(readv) as unknown as (
  fd: number,
  targets: readonly NodeJS.ArrayBufferView[],
  position: number,
) => Promise<{ bytesRead: number }>;
export const writevAsync = promisify(writev) as unknown as (
  fd: number,
  chunks: NodeJS.ArrayBufferView[],
  position: number,
) => Promise<{ bytesWritten: number }>;

/** Opens a file for reading. @returns undefined when it is not there: past its retention, or not written yet */
export function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** How many files and sockets this process may have open (Linux); elsewhere what every system allows. */
export function maxDescriptors(): number {
  const usual = 1024;
  try {
    const [, most = ''] = /^Max open files +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return most === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(most) || usual;
  } catch {
    return usual;
  }
}
