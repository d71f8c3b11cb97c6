import { readNamedFile } from '../disk/named-file.ts';

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
