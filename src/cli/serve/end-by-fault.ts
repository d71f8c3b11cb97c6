import { systemClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { exitCode } from '../exit-codes.ts';

/** Limit in milliseconds, because the supervisor waits for the end. */
const flushWithinMs = 1000;

/**
 * Ends this process with code 70 at the first uncaught fault. Requests catch their own faults, so the state is unknown.
 *
 * @param flush saves confirmed changes, within `flushWithinMs`. Its errors are logged
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
