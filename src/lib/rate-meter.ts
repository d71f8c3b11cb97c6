import type { Clock } from './clock.ts';

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
