import { systemClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { exitCode } from '../exit-codes.ts';

/** What is flushed within this time is flushed; whoever supervises the process waits for it to end. */
const flushWithinMs = 1000;

/**
 * Ends this process with code 70 by the first fault that nothing caught. Faults of requests are caught where they arise; one that gets
 * here belongs to none, so nobody knows what state the process is in.
 *
 * @param flush puts on disk, or on its way, what was answered for; what it throws is logged
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
