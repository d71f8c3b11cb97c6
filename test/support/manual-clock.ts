import type { Clock } from '../../src/lib/clock.ts';

/** A clock that stands still until a test advances it. */
export class ManualClock implements Clock {
  #nowMs = 1_700_000_000_000;
  readonly #timers = new Set<{ atMs: number; everyMs: number | undefined; action: () => void }>();

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, action: () => void) {
    return this.#add(delayMs, undefined, action);
  }

  every(periodMs: number, action: () => void) {
    return this.#add(periodMs, periodMs, action);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const { cancel } = this.#add(delayMs, undefined, () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
      const abort = () => {
        cancel();
        reject(signal?.reason);
      };
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Time in milliseconds until the next timer fires; infinite without a timer. */
  get nextInMs(): number {
    return Math.min(...[...this.#timers].map(({ atMs }) => atMs - this.#nowMs));
  }

  /** Lets time pass, and runs the due timers in order. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const [next] = [...this.#timers].filter((timer) => timer.atMs <= endMs).sort((a, b) => a.atMs - b.atMs);
      if (!next) break;
      this.#nowMs = next.atMs;
      if (next.everyMs === undefined) this.#timers.delete(next);
      else next.atMs += next.everyMs;
      next.action();
    }
    this.#nowMs = endMs;
  }

  #add(delayMs: number, everyMs: number | undefined, action: () => void) {
    const timer = { atMs: this.#nowMs + delayMs, everyMs, action };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }
}
