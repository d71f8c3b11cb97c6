import { ServiceError, systemErrorCode } from '../lib/errors.ts';

/** Whether a write failed because there is no room. */
export function isDiskFull(error: unknown): boolean {
  return systemErrorCode(error) === 'ENOSPC' || systemErrorCode(error) === 'EDQUOT';
}

/** What is thrown when the journal has no room: no change is made that cannot be recorded (decisions.md 2). */
export function journalFull(cause?: unknown): ServiceError {
  return new ServiceError('storage-full', 'The disk of the event journal is full; no change is made that cannot be recorded.', { cause });
}

/** What a failed write or sync of the journal means: `storage-full` or `internal`. */
export function journalFault(cause: unknown): ServiceError {
  return isDiskFull(cause) ? journalFull(cause) : new ServiceError('internal', 'The event journal could not be written.', { cause });
}
