import { readFileSync } from 'node:fs';
import { ServiceError } from '../errors.ts';

/**
 * Reads certificate authorities that are trusted beside the system's.
 *
 * @param path PEM file; without one there are none
 * @param option what names the file, for the error
 * @throws ServiceError `unavailable` when it cannot be read
 */
export function readCaCertificates(path: string, option: string): string | undefined {
  if (path === '') return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ServiceError('unavailable', `${option}: ${(error as Error).message}`, { cause: error });
  }
}
