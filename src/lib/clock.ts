import { setTimeout as pause } from 'node:timers/promises';

export interface Timer {
  cancel(): void;
}

/** The source of time and timers. Almost all other code uses it, so that tests can stop time (`test/support/manual-clock.ts`). */
export interface Clock {
  /** Wall-clock time as Unix time in milliseconds. It may have a fraction. */
  nowMs(): number;
  /** Monotonic time in milliseconds, for durations. Its zero point is arbitrary, but the same for all processes of a machine. */
  monotonicMs(): number;
  /** Runs `action` once after `delayMs`. The timer does not keep the process alive. */
  after(delayMs: number, action: () => void): Timer;
  /** Runs `action` every `periodMs`. The timer does not keep the process alive. */
  every(periodMs: number, action: () => void): Timer;
  /** Resolves after `delayMs`. Rejects with the signal's reason if the signal aborts first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Maximum delay of a Node.js timer in milliseconds. A timer with a longer delay would fire immediately. */
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
  // Node.js would reject with its own error, not with the signal's reason.
  sleep: (delayMs, signal) => pause(clampDelayMs(delayMs), undefined, { signal }).catch(() => Promise.reject(signal?.reason)),
};
