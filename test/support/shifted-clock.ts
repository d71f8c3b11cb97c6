import { type Clock, systemClock } from '../../src/lib/clock.ts';

/** The system's clock that jumps ahead when it is told to; its timers stay where they are. */
export class ShiftedClock implements Clock {
  #aheadMs = 0;
  readonly after = systemClock.after;
  readonly every = systemClock.every;
  readonly sleep = systemClock.sleep;

  nowMs(): number {
    return systemClock.nowMs() + this.#aheadMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#aheadMs;
  }

  shift(ms: number): void {
    this.#aheadMs += ms;
  }
}
