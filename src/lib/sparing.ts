import type { Clock } from './clock.ts';

/** Counts what may happen too often to be told of each time: it is told of at most once a period, with how often it happened. */
export class Sparing {
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
  note(): number | undefined {
    this.#count++;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#toldMs < this.#everyMs) return undefined;
    const count = this.#count;
    this.#count = 0;
    this.#toldMs = nowMs;
    return count;
  }
}
