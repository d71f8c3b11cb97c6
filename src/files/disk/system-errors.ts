import { type ErrorCode, ServiceError, systemErrorCode } from '../../lib/errors.ts';

const meanings: Record<string, [ErrorCode, string]> = {
  ENOENT: ['not-found', 'Path not found.'],
  ENXIO: ['not-found', 'Path not found.'],
  ELOOP: ['not-found', 'Path not found.'],
  ENOTDIR: ['not-found', 'Path not found.'],
  EACCES: ['forbidden', 'Permission denied.'],
  EPERM: ['forbidden', 'Permission denied.'],
  EROFS: ['read-only', 'The file system is read-only.'],
  EEXIST: ['exists', 'The path already exists.'],
  EISDIR: ['is-folder', 'A folder has this name.'],
  ENOTEMPTY: ['not-empty', 'The folder is not empty.'],
  EBUSY: ['in-use', 'The path is in use.'],
  ETXTBSY: ['in-use', 'The file is in use.'],
  ENAMETOOLONG: ['name-invalid', 'The name is too long.'],
  EILSEQ: ['name-invalid', 'The file system does not accept this name.'],
  EINVAL: ['name-invalid', 'The file system does not accept this name.'],
  ENOSPC: ['storage-full', 'The disk is full.'],
  EDQUOT: ['storage-full', 'The disk quota is used up.'],
  EFBIG: ['too-large', 'The file is too large for the file system.'],
  // Another NFS client removed or replaced the file or folder.
  ESTALE: ['not-found', 'Path not found.'],
  ETIMEDOUT: ['unavailable', 'The file system does not answer; try again.'],
  EMFILE: ['unavailable', 'Too many open files; try again.'],
  ENFILE: ['unavailable', 'Too many open files; try again.'],
};

/** PATH_MAX of Linux, without the final NUL. */
const longestPathBytes = 4095;

/** @throws ServiceError `name-invalid` for a real path that could be created through its parent folder, but is too long to be opened */
export function checkPathLength(realPath: string): void {
  if (Buffer.byteLength(realPath) > longestPathBytes) throw new ServiceError('name-invalid', 'The path is too long.');
}

/**
 * Translates an operating system error for clients. The text never contains a real path.
 *
 * @returns the same error if it is already a `ServiceError`; `internal` for unknown errors
 */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const meaning = meanings[systemErrorCode(error) ?? ''];
  if (!meaning) return new ServiceError('internal', 'The file system reported an error.', { cause: error });
  return new ServiceError(meaning[0], meaning[1], { cause: error });
}
