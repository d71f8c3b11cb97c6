/**
 * The codes of all errors that the service reports. Each code has one HTTP status (`http/reply/error-reply.ts`) and a text in each language
 * of the pages. Errors that a client or a person must tell apart have different codes.
 */
export const errorCodes = [
  'bad-request',
  'nothing-selected',
  'name-invalid',
  'digest-mismatch',
  'length-mismatch',
  'metadata-invalid',
  'unauthorized',
  'forbidden',
  'never-allowed',
  'name-reserved',
  'name-taken',
  'retained',
  'fixed-folder',
  'destination-overlaps',
  'in-use',
  'read-only',
  'not-found',
  'gone',
  'account-gone',
  'method-not-allowed',
  'exists',
  'is-folder',
  'not-empty',
  'parent-missing',
  'precondition-failed',
  'destination-exists',
  'too-large',
  'media-type-unsupported',
  'range-not-satisfiable',
  'unprocessable',
  'locked',
  'too-many-requests',
  'client-gone',
  'internal',
  'version-not-supported',
  'other-host',
  'unavailable',
  'storage-full',
  'not-durable',
  'held',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** Codes that stand for several problems. After the translated text, the service adds its English message, which names the problem. */
export const broadCodes: ReadonlySet<ErrorCode> = new Set([
  'bad-request',
  'metadata-invalid',
  'never-allowed',
  'unprocessable',
  'internal',
  'not-durable',
]);

interface ServiceErrorOptions {
  /** The original error, which is never shown to a client. */
  cause?: unknown;
  /** Data for events and logs, for example `{retry_after_s: 30}`. It must not contain secrets. */
  details?: Record<string, unknown>;
}

/** An error as clients see it. The message is in English. The code selects its translation. */
export interface Problem {
  readonly code: ErrorCode;
  readonly message: string;
  /** Path of the affected member, relative to the folder of the operation; undefined for that folder. It is shown before the message. */
  readonly relativePath?: string;
}

/** An error that the service expects. `message` may be shown to the client, so it must not contain secrets or real paths. */
export class ServiceError extends Error implements Problem {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** Returns whether a thrown value is a `ServiceError`. If codes are given, it must have one of them. */
export function isServiceError(error: unknown, ...codes: ErrorCode[]): error is ServiceError {
  return error instanceof ServiceError && (codes.length === 0 || codes.includes(error.code));
}

/** Linux errors without a name in Node.js, by error number. */
const unnamedErrors = new Map<unknown, string>([
  [-116, 'ESTALE'],
  [-122, 'EDQUOT'],
]);

/** Returns the `code` of an operating system error, such as `ENOENT`; undefined for any other value. */
export function systemErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  if ('errno' in error && unnamedErrors.has(error.errno)) return unnamedErrors.get(error.errno);
  return typeof error.code === 'string' ? error.code : undefined;
}
