import type { Clock } from './clock.ts';

/** Counts what may happen too often to be told of each time: it is told of at most once a period, with how often it happened. */
export class ThrottledCount {
  readonly #clock: Clock;
  readonly #everyMs: number;
  #count = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /**
   * It happened.
   *
   * @returns how often it has since it was last told of, this time included; undefined when it is not to be told of now
   */
  record(): number | undefined {
    this.#count++;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#toldMs < this.#everyMs) return undefined;
    const count = this.#count;
    this.#count = 0;
    this.#toldMs = nowMs;
    return count;
  }
}

const slotMs = 5000;
const slots = 12;

/** How often something happened in the last minute. */
export class RateMeter {
  readonly #clock: Clock;
  readonly #counts = new Array<number>(slots).fill(0);
  #slot = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(): void {
    this.#forget();
    this.#counts[this.#slot % slots] = (this.#counts[this.#slot % slots] ?? 0) + 1;
  }

  /** Within the last 55 to 60 seconds. */
  get perMinute(): number {
    this.#forget();
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  #forget(): void {
    const now = Math.floor(this.#clock.monotonicMs() / slotMs);
    for (let slot = Math.max(this.#slot + 1, now - slots + 1); slot <= now; slot++) this.#counts[slot % slots] = 0;
    this.#slot = now;
  }
}
