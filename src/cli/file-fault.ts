import { readFileSync, type WriteFileOptions, writeFileSync } from 'node:fs';
import { readingFault } from '../lib/disk/named-file.ts';
import { ServiceError, systemErrorCode } from '../lib/errors.ts';

const reasons = {
  write: { ENOENT: 'its folder does not exist', EISDIR: 'it is a folder', EACCES: 'the user who runs svc may not write it' },
  folder: {
    EEXIST: 'it is a file, not a folder',
    ENOTDIR: 'a part of the path is a file, not a folder',
    EACCES: 'the user who runs svc may not create it',
  },
} as const;

/** Explains why a file that the user named cannot be written, or why a folder cannot be created. */
export function fileFault(kind: keyof typeof reasons, error: unknown): string {
  return (reasons[kind] as Partial<Record<string, string>>)[systemErrorCode(error) ?? ''] ?? (error as Error).message;
}

/**
 * Reads a text file that the user named.
 *
 * @param subject beginning of the error message
 * @param file path of the file; 0 for standard input
 * @throws ServiceError `bad-request` if the file cannot be read
 */
export function readNamedFile(subject: string, file: string | 0): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ServiceError('bad-request', `${subject}: ${readingFault(String(file), error)}.`, { cause: error });
  }
}

/**
 * Writes a file that the user named.
 *
 * @param subject beginning of the error message
 * @throws ServiceError `bad-request` if the file cannot be written
 */
export function writeNamedFile(subject: string, file: string, text: string, options?: WriteFileOptions): void {
  try {
    writeFileSync(file, text, options);
  } catch (error) {
    throw new ServiceError('bad-request', `${subject}: ${fileFault('write', error)}.`, { cause: error });
  }
}
