import { STATUS_CODES } from 'node:http';
import { type ErrorCode, ServiceError } from '../../lib/errors.ts';
import { jsonReply, type Reply, type ReplyHeaders } from './reply.ts';

/** The HTTP status of each fault. Exceptions: some replies to tus (`tus`), and 500 instead of 503 after a change (`faultReply`). */
export const statusCodes: Record<ErrorCode, number> = {
  'bad-request': 400,
  'nothing-selected': 400,
  'name-invalid': 400,
  'digest-mismatch': 400,
  'length-mismatch': 400,
  'metadata-invalid': 400,
  unauthorized: 401,
  forbidden: 403,
  'never-allowed': 403,
  'name-reserved': 403,
  'name-taken': 403,
  retained: 403,
  'fixed-folder': 403,
  'destination-overlaps': 403,
  'in-use': 403,
  'read-only': 403,
  'not-found': 404,
  'account-gone': 404,
  gone: 410,
  'method-not-allowed': 405,
  exists: 409,
  'is-folder': 409,
  'not-empty': 409,
  'parent-missing': 409,
  'precondition-failed': 412,
  'destination-exists': 412,
  'too-large': 413,
  'media-type-unsupported': 415,
  'range-not-satisfiable': 416,
  unprocessable: 422,
  locked: 423,
  'too-many-requests': 429,
  'client-gone': 400,
  internal: 500,
  'other-host': 502,
  unavailable: 503,
  'version-not-supported': 505,
  'storage-full': 507,
  'not-durable': 500,
  held: 202,
};

/** An item of `errors` in JSON replies (docs/spec/http.md#errors). Each target has an item; `message` is null for a success. */
export interface ErrorItem {
  message: string | null;
  title?: string;
  target?: string | undefined;
  response?: unknown;
  /** UUID of the inspection that refused the file. */
  inspection?: string | undefined;
  /** ID of the held upload, if an inspection holds the file. */
  held?: string | undefined;
  /** False if the change was made but could be lost in a power failure. */
  durable?: false | undefined;
}

/** Returns a JSON reply with a list of errors. */
export function errorsReply(status: number, items: readonly ErrorItem[], headers: ReplyHeaders = {}): Reply {
  return jsonReply(status, { errors: items }, headers);
}

/** The standard name of a status, for titles and pages. */
export function statusTitle(status: number): string {
  return STATUS_CODES[status] ?? 'Error';
}

/** Returns the reply headers of a fault: `Allow`, `Retry-After`, `Content-Range`, and those in the detail `reply_headers`. */
export function faultHeaders(fault: ServiceError): ReplyHeaders {
  const { allow, retry_after_s, content_range, reply_headers } = fault.details;
  return {
    ...(reply_headers as ReplyHeaders | undefined),
    allow: typeof allow === 'string' ? allow : undefined,
    'retry-after': typeof retry_after_s === 'number' ? Math.ceil(retry_after_s) : fault.code === 'unavailable' ? 5 : undefined,
    'content-range': typeof content_range === 'string' ? content_range : undefined,
  };
}

/** Converts a thrown value to a fault. An unknown error becomes `internal`, with the error as its cause for the log. */
export function toFault(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('internal', 'Internal error.', { cause: error });
}
