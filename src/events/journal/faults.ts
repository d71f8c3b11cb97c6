import { isServiceError, ServiceError, systemErrorCode } from '../../lib/errors.ts';

/** Whether a write failed because there is no room. */
export function isDiskFull(error: unknown): boolean {
  return systemErrorCode(error) === 'ENOSPC' || systemErrorCode(error) === 'EDQUOT';
}

/** What is thrown when the journal has no room: no change is made that cannot be recorded (docs/spec/events.md#durability). */
export function journalFull(cause?: unknown): ServiceError {
  return new ServiceError('storage-full', 'The disk of the event journal is full; no change is made that cannot be recorded.', { cause });
}

/** What a failed write or sync of the journal means: `storage-full` or `internal`. */
export function journalFault(cause: unknown): ServiceError {
  return isDiskFull(cause) ? journalFull(cause) : new ServiceError('internal', 'The event journal could not be written.', { cause });
}

/**
 * Runs a piece of the journal writer. What the system reports (a full or broken disk) goes to the caller; any other fault means that
 * nobody knows what the journal holds, so it is thrown where no request can catch it, too, and ends the process.
 *
 * @throws what the action throws
 */
export function orEndProcess<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    endProcessUnlessExpected(error);
    throw error;
  }
}

/** Ends the process by a fault of the journal writer that is not the system's: see `orEndProcess`. */
export function endProcessUnlessExpected(error: unknown): void {
  const cause = isServiceError(error) ? (error.cause ?? error) : error;
  if (isServiceError(cause) || systemErrorCode(cause) !== undefined) return;
  queueMicrotask(() => {
    throw error;
  });
}
