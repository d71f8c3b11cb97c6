import { randomUUID } from 'node:crypto';
import { type ErrorCode, ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { type StatusCode, statusCodes } from './packets/packets.ts';

const { noSuchFile, permissionDenied, failure, badMessage, unsupported } = statusCodes;

/** Error codes whose status says more than a failure; few statuses exist, so the text carries the meaning. */
const statuses: Partial<Record<ErrorCode, StatusCode>> = {
  'bad-request': badMessage,
  unauthorized: permissionDenied,
  forbidden: permissionDenied,
  'never-allowed': permissionDenied,
  'name-reserved': permissionDenied,
  'fixed-folder': permissionDenied,
  'read-only': permissionDenied,
  'account-gone': permissionDenied,
  locked: permissionDenied,
  'not-found': noSuchFile,
  'parent-missing': noSuchFile,
  'method-not-allowed': unsupported,
  'version-not-supported': unsupported,
};

/** The one mapping of errors to status codes (docs/spec/sftp.md#errors). */
export function statusByError(code: ErrorCode): StatusCode {
  return statuses[code] ?? failure;
}

/** The reply to a fault. One that the service does not know gets a reference, which stands in the log, too. */
export function toStatus(error: unknown, log: Log): { code: StatusCode; message: string } {
  if (error instanceof ServiceError && error.code !== 'internal') return { code: statusByError(error.code), message: error.message };
  const reference = randomUUID();
  log.error('an SFTP request failed', { reference, reason: error });
  return { code: failure, message: `Internal error, reference ${reference}.` };
}
