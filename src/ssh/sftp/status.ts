import { randomUUID } from 'node:crypto';
import { type ErrorCode, ServiceError } from '../../lib/errors.ts';
import type { SshClient } from '../ssh-client.ts';
import { type StatusCode, statusCodes } from './packets/packets.ts';

const { noSuchFile, permissionDenied, failure, badMessage, unsupported } = statusCodes;

/** The status code of each error (docs/spec/sftp.md#errors). The few codes need a message that explains. */
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

/** The status for an error. An unexpected one gets a reference, which is also in the log. */
export function toStatus(error: unknown, { log, options }: Pick<SshClient, 'log' | 'options'>): { code: StatusCode; message: string } {
  if (error instanceof ServiceError && options.public_error) {
    // An inspection can provide the message of its refusal.
    const { message } = (error.details.public_refusal ?? {}) as { message?: string };
    if (message !== undefined) return { code: statusByError[error.code], message };
  }
  if (error instanceof ServiceError && error.code !== 'internal') return { code: statusByError[error.code], message: error.message };
  const reference = randomUUID();
  log.error('an SFTP request failed', { reference, reason: error });
  return { code: failure, message: `Internal error, reference ${reference}.` };
}
