/**
 * The closed list of what can go wrong in the domain. Every code has exactly one HTTP status,
 * in `http/error-reply.ts`; nothing below `http` knows that status.
 */
export const errorCodes = [
  'bad-request',
  'name-invalid',
  'digest-mismatch',
  'length-mismatch',
  'metadata-invalid',
  'unauthorized',
  'forbidden',
  'name-reserved',
  'not-found',
  'method-not-allowed',
  'request-timeout',
  'exists',
  'is-folder',
  'is-file',
  'not-empty',
  'parent-missing',
  'precondition-failed',
  'too-large',
  'media-type-unsupported',
  'range-not-satisfiable',
  'expectation-failed',
  'unprocessable',
  'locked',
  'too-many-requests',
  'header-too-large',
  'client-gone',
  'internal',
  'not-implemented',
  'version-not-supported',
  'other-host',
  'unavailable',
  'storage-full',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

interface ServiceErrorOptions {
  /** The fault underneath; never shown to a client. */
  cause?: unknown;
  /** Facts for events and logs, for example `{retry_after_s: 30}`. Never secrets. */
  details?: Record<string, unknown>;
}

/** A fault that the service understands. `message` may be shown to the client; it never holds secrets or real paths. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** Whether a thrown value is a `ServiceError` with one of the given codes (any code when none is given). */
export function isServiceError(error: unknown, ...codes: ErrorCode[]): error is ServiceError {
  return error instanceof ServiceError && (codes.length === 0 || codes.includes(error.code));
}

/** Errors of Linux that Node.js has no name for. */
const unnamedErrors = new Map<unknown, string>([
  [-116, 'ESTALE'],
  [-122, 'EDQUOT'],
]);

/** The `code` of an operating system error (`ENOENT`), or undefined for anything else. */
export function systemErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  if ('errno' in error && unnamedErrors.has(error.errno)) return unnamedErrors.get(error.errno);
  return typeof error.code === 'string' ? error.code : undefined;
}
