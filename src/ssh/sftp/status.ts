import { randomUUID } from 'node:crypto';
import { type ErrorCode, ServiceError } from '../../lib/errors.ts';
import type { SshClient } from '../ssh-client.ts';
import { type StatusCode, statusCodes } from './packets/packets.ts';

const { noSuchFile, permissionDenied, failure, badMessage, unsupported } = statusCodes;

/** The status code of each error (docs/spec/sftp.md#errors). SFTP has few codes, so the message has to explain the error. */
export const statusByError: Readonly<Record<ErrorCode, StatusCode>> = {
  'bad-request': badMessage,
  'nothing-selected': failure,
  'name-invalid': failure,
  'digest-mismatch': failure,
  'length-mismatch': failure,
  'metadata-invalid': failure,
  unauthorized: permissionDenied,
  forbidden: permissionDenied,
  'never-allowed': permissionDenied,
  'name-reserved': permissionDenied,
  'name-taken': permissionDenied,
  retained: permissionDenied,
  'fixed-folder': permissionDenied,
  'destination-overlaps': failure,
  'in-use': failure,
  'read-only': permissionDenied,
  'not-found': noSuchFile,
  'account-gone': permissionDenied,
  gone: noSuchFile,
  'method-not-allowed': unsupported,
  exists: failure,
  'is-folder': failure,
  'not-empty': failure,
  'parent-missing': noSuchFile,
  'precondition-failed': failure,
  'destination-exists': failure,
  'too-large': failure,
  'media-type-unsupported': failure,
  'range-not-satisfiable': failure,
  unprocessable: failure,
  locked: permissionDenied,
  'too-many-requests': failure,
  'client-gone': failure,
  internal: failure,
  'version-not-supported': unsupported,
  'other-host': failure,
  unavailable: failure,
  'storage-full': failure,
  'not-durable': failure,
  held: failure,
};

/** Returns the status for an error. An unexpected error gets a reference, which is also in the log. */
export function toStatus(error: unknown, { log, options }: Pick<SshClient, 'log' | 'options'>): { code: StatusCode; message: string } {
  if (error instanceof ServiceError && options.public_error) {
    // If an inspection refused the file, the inspection can provide the message.
    const { message } = (error.details.public_refusal ?? {}) as { message?: string };
    if (message !== undefined) return { code: statusByError[error.code], message };
  }
  if (error instanceof ServiceError && error.code !== 'internal') return { code: statusByError[error.code], message: error.message };
  const reference = randomUUID();
  log.error('an SFTP request failed', { reference, reason: error });
  return { code: failure, message: `Internal error, reference ${reference}.` };
}
