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
  // The file or folder was removed or replaced by way of another NFS client.
  ESTALE: ['not-found', 'Path not found.'],
  ETIMEDOUT: ['unavailable', 'The file system does not answer, try again.'],
  EMFILE: ['unavailable', 'Too many open files, try again.'],
  ENFILE: ['unavailable', 'Too many open files, try again.'],
};

/** Longest path that the system takes, in bytes (PATH_MAX of Linux, without the final NUL). */
const longestPathBytes = 4095;

/** @throws ServiceError `name-invalid` for a real path at which nothing can be opened; through its folder it could be made */
export function checkPathLength(realPath: string): void {
  if (Buffer.byteLength(realPath) > longestPathBytes) throw new ServiceError('name-invalid', 'The path is too long.');
}

/**
 * Gives an operating system error its meaning for a client. The text never holds a real path.
 *
 * @returns a `ServiceError`; a `ServiceError` itself comes back as it is; what is not known becomes `internal`
 */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const meaning = meanings[systemErrorCode(error) ?? ''];
  if (!meaning) return new ServiceError('internal', 'The file system reported an error.', { cause: error });
  return new ServiceError(meaning[0], meaning[1], { cause: error });
}
