import { setTimeout as pause } from 'node:timers/promises';

/** A timer that can be cancelled; cancelling twice, or after it ran, does nothing. */
export interface Timer {
  cancel(): void;
}

/** The only code that uses `Date.now` and timers, so that tests can stop time (`test/support/manual-clock.ts`). */
export interface Clock {
  /** Wall clock, Unix time in milliseconds with a fraction. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start that all processes of a machine share, never going back; for durations. */
  monotonicMs(): number;
  /** Runs `action` once after `delayMs`. The timer does not keep the process alive. */
  after(delayMs: number, action: () => void): Timer;
  /** Runs `action` every `periodMs`. The timer does not keep the process alive. */
  every(periodMs: number, action: () => void): Timer;
  /** Resolves after `delayMs`; rejects with the signal's reason when it aborts first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Longest delay that Node's timers take, in milliseconds; longer ones would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

function clampDelayMs(delayMs: number): number {
  return Math.min(Math.max(delayMs, 0), longestTimerMs);
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs() {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1000 + nanoseconds / 1e6;
  },
  after(delayMs, action) {
    const handle = setTimeout(action, clampDelayMs(delayMs));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
  every(periodMs, action) {
    const handle = setInterval(action, clampDelayMs(periodMs));
    handle.unref();
    return { cancel: () => clearInterval(handle) };
  },
  // Node.js rejects with an error of its own and not with the signal's reason.
  sleep: (delayMs, signal) => pause(clampDelayMs(delayMs), undefined, { signal }).catch(() => Promise.reject(signal?.reason)),
};
