import { readFileSync } from 'node:fs';
import { ServiceError } from '../errors.ts';

/**
 * Reads a file that an option names.
 *
 * @param option for the error
 * @throws ServiceError `unavailable` when it cannot be read
 */
export function readNamedFile(path: string, option: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new ServiceError('unavailable', `${option}: ${(error as Error).message}`, { cause: error });
  }
}
