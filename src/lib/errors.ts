/** The codes of all errors. Each has one HTTP status (`http/reply/error-reply.ts`) and a text in each language of the pages. */
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

/** Codes for several problems. The English message, which names the problem, follows the translated text. */
export const broadCodes: ReadonlySet<ErrorCode> = new Set([
  'bad-request',
  'metadata-invalid',
  'never-allowed',
  'unprocessable',
  'internal',
  'not-durable',
]);

interface ServiceErrorOptions {
  /** Never shown to a client. */
  cause?: unknown;
  /** For events and logs, for example `{retry_after_s: 30}`. It must not contain secrets. */
  details?: Record<string, unknown>;
}

/** An error as clients see it. The message is in English; the code selects its translation. */
export interface Problem {
  readonly code: ErrorCode;
  readonly message: string;
  /** Path of the affected member, relative to the folder of the operation; undefined for that folder. */
  readonly relativePath?: string;
}

/** An expected error. Clients may see `message`, so it must not contain secrets or real paths. */
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

/** Whether a value is a `ServiceError` with one of the codes, if given. */
export function isServiceError(error: unknown, ...codes: ErrorCode[]): error is ServiceError {
  return error instanceof ServiceError && (codes.length === 0 || codes.includes(error.code));
}

/** Linux errors without a name in Node.js. */
const unnamedErrors = new Map<unknown, string>([
  [-116, 'ESTALE'],
  [-122, 'EDQUOT'],
]);

/** Returns the `code` of a system error, such as `ENOENT`. */
export function systemErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  if ('errno' in error && unnamedErrors.has(error.errno)) return unnamedErrors.get(error.errno);
  return typeof error.code === 'string' ? error.code : undefined;
}
