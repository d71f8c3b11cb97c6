import { systemClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { exitCode } from '../exit-codes.ts';

/** Maximum duration of the flush in milliseconds. It is short, because the supervisor waits for this process to end. */
const flushWithinMs = 1000;

/**
 * Makes the first uncaught fault end this process with code 70. Each request catches its own faults, so after any other fault the process
 * is in an unknown state.
 *
 * @param flush saves all changes that were confirmed to clients. If it returns a promise, the process waits at most `flushWithinMs`. An
 *   error that `flush` throws is logged
 */
export function endByFault(log: Log, flush: () => void | Promise<void>): void {
  let isEnding = false;
  process.on('uncaughtException', (error: unknown) => {
    log.error('a fault that belongs to no request ends this process', {
      reason: error,
      stack: error instanceof Error ? error.stack : undefined,
    });
    const end = () => process.exit(exitCode.fault);
    if (isEnding) return end();
    isEnding = true;
    try {
      const flushed = flush();
      if (!flushed) return end();
      flushed.then(end, end);
      systemClock.after(flushWithinMs, end);
    } catch (fault) {
      log.error('the journal could not be flushed', { reason: fault });
      end();
    }
  });
}
