import { readFileSync } from 'node:fs';
import { ServiceError, systemErrorCode } from '../errors.ts';

/**
 * Reads certificate authorities that are trusted beside the system's.
 *
 * @param path PEM file; without one there are none
 * @param option what names the file, for the error
 * @throws ServiceError `unavailable` when it cannot be read
 */
export function readCaCertificates(path: string, option: string): string | undefined {
  return path === '' ? undefined : readNamedFile(path, option).toString('utf8');
}

/** Content of files that were read as root, by path, for the time when this process is not root any more. */
export const readAsRoot = new Map<string, Buffer>();

let onOld: (path: string) => void = () => {};

/** @param listener gets each file whose old content is used, as it cannot be read any more */
export function onOldFile(listener: (path: string) => void): void {
  onOld = listener;
}

/**
 * Reads a file that only root may be allowed to read.
 *
 * @param mayBeOld whether the content that root read is used for a file that cannot be read any more
 * @throws what `readFileSync` throws
 */
export function readSecretFile(path: string, mayBeOld = true): Buffer {
  try {
    const bytes = readFileSync(path);
    if (process.getuid?.() === 0) readAsRoot.set(path, bytes);
    return bytes;
  } catch (error) {
    const old = readAsRoot.get(path);
    if (!mayBeOld || !old || systemErrorCode(error) !== 'EACCES') throw error;
    onOld(path);
    return old;
  }
}

/**
 * Reads a file that an option names.
 *
 * @param option for the error
 * @param mayBeOld as for `readSecretFile`
 * @throws ServiceError `unavailable` when it cannot be read
 */
export function readNamedFile(path: string, option: string, mayBeOld = true): Buffer {
  try {
    return readSecretFile(path, mayBeOld);
  } catch (error) {
    throw new ServiceError('unavailable', `${option}: ${(error as Error).message}`, { cause: error });
  }
}
