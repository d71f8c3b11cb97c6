import { setTimeout as pause } from 'node:timers/promises';

export interface Timer {
  cancel(): void;
}

/** The source of time and timers, so that tests can stop time (`test/support/manual-clock.ts`). */
export interface Clock {
  /** Unix time in milliseconds, perhaps with a fraction. */
  nowMs(): number;
  /** For durations. Its zero point is arbitrary, but the same for all processes of a machine. */
  monotonicMs(): number;
  /** Does not keep the process alive. */
  after(delayMs: number, action: () => void): Timer;
  /** Does not keep the process alive. */
  every(periodMs: number, action: () => void): Timer;
  /** Rejects with the signal's reason if it aborts first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** A longer Node.js timer would fire immediately. */
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
  // Node.js would reject with its own error.
  sleep: (delayMs, signal) => pause(clampDelayMs(delayMs), undefined, { signal }).catch(() => Promise.reject(signal?.reason)),
};
