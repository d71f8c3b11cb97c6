import {
  close,
  constants,
  copyFile,
  fdatasync,
  fsync,
  ftruncate,
  futimes,
  open,
  openSync,
  read,
  readFileSync,
  readSync,
  readv,
  rmSync,
  write,
  writev,
} from 'node:fs';
import { promisify } from 'node:util';
import { systemErrorCode } from '../errors.ts';

const chunkBytes = 1024 * 1024;

/**
 * Yields the content of an open file from its beginning, in chunks. The chunks share one buffer, so the caller must use each chunk before
 * it requests the next one.
 *
 * @param sizeBytes expected size of the file; it limits the size of the buffer
 */
export async function* readChunks(fd: number, sizeBytes = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, sizeBytes));
  for (let position = 0; ; ) {
    const { bytesRead } = await readAsync(fd, buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/**
 * Converts a time to seconds for futimes(2), so that the file gets the time in whole microseconds. Node.js cuts the digits below a
 * microsecond, and a double may be just below the decimal number that it stands for: 1700000000.123 would become 1700000000.122999. So half
 * a microsecond is added.
 *
 * @param timeMs Unix time in milliseconds, with a fraction
 */
export function toSeconds(timeMs: number): number {
  return (Math.round(timeMs * 1000) + 0.5) / 1e6;
}

/*
 * Functions of `node:fs` on descriptors, with promises. `node:fs/promises` needs file handles, which cost more and which `openSync` does
 * not return.
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

/** Fills `target` from a position of a file. @returns the number of bytes read; less than the target's length if the file ends earlier */
export function readFully(fd: number, target: Buffer, position = 0): number {
  let done = 0;
  while (done < target.length) {
    const bytesRead = readSync(fd, target, done, target.length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

/** Returns the bytes that a `writev` call did not write. @param bytes number of bytes that the call wrote */
export function dropWritten(chunks: readonly Buffer[], bytes: number): Buffer[] {
  const rest = [...chunks];
  let written = bytes;
  while (rest.length > 0 && written >= (rest[0] as Buffer).length) written -= (rest.shift() as Buffer).length;
  if (written > 0) rest[0] = (rest[0] as Buffer).subarray(written);
  return rest;
}

/** Returns the total length of chunks in bytes. */
export function totalBytes(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0);
}

/** Opens a file for reading. @returns undefined if it does not exist */
export function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns how many files and sockets this process may have open; 1024 if the system does not report the limit. */
export function maxDescriptors(): number {
  try {
    const [, max = ''] = /^Max open files +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return max === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(max) || 1024;
  } catch {
    return 1024;
  }
}

const copyFileAsync = promisify(copyFile);

/** Error codes which mean that a file system, or a pair of file systems, cannot clone files. */
const unable = ['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'ENOTTY', 'EXDEV', 'EINVAL', 'EPERM'];

/** Whether files of a device can be cloned, by device number. A device that was not tried yet is missing. */
const known = new Map<number, boolean>();

/** Makes `path` a copy-on-write clone of an opened file. No data is copied. @throws the system's error; `copyFile` then removes `path` */
export async function cloneFile(fd: number, path: string): Promise<void> {
  await copyFileAsync(`/proc/self/fd/${fd}`, path, constants.COPYFILE_FICLONE_FORCE);
}

/** Whether an opened file can be cloned on its device. @param scratchPath an unused path on that device, for the first attempt */
export async function canClone(fd: number, device: number, scratchPath: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const before = known.get(device);
  if (before !== undefined) return before;
  try {
    await cloneFile(fd, scratchPath);
    rmSync(scratchPath);
    known.set(device, true);
    return true;
  } catch (error) {
    if (unable.includes(systemErrorCode(error) ?? '')) known.set(device, false);
    return false;
  }
}
