/**
 * The closed list of faults of the domain. Each code has one HTTP status (`http/reply/error-reply.ts`) and a text in each language of the
 * pages. Faults that readers must distinguish have different codes.
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

interface ServiceErrorOptions {
  /** Never shown to a client. */
  cause?: unknown;
  /** Facts for events and logs, for example `{retry_after_s: 30}`. Never secrets. */
  details?: Record<string, unknown>;
}

/** A fault as clients read it: in English, with the code that chooses its translation. */
export interface Problem {
  readonly code: ErrorCode;
  readonly message: string;
  /** Member of the folder that it is about; undefined for the folder itself. Precedes the message. */
  readonly relativePath?: string;
}

/** A fault that the service understands. `message` may be shown to the client; it never holds secrets or real paths. */
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

/** Whether a thrown value is a `ServiceError` with one of the given codes (any code when none is given). */
export function isServiceError(error: unknown, ...codes: ErrorCode[]): error is ServiceError {
  return error instanceof ServiceError && (codes.length === 0 || codes.includes(error.code));
}

/** Linux errors without a name in Node.js. */
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
