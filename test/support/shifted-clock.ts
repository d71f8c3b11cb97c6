import { type Clock, systemClock, type Timer } from '../../src/lib/clock.ts';

/** The system's clock, which a test can make jump. The jumps do not affect the timers of the clock. */
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

/** A clock that a test can make jump. The test can also run the clock's periodic work at once (`runPeriodic`). */
export class SteppedClock extends ShiftedClock {
  readonly #periodic = new Set<() => void>();
  override readonly every = (periodMs: number, action: () => void): Timer => {
    const timer = systemClock.every(periodMs, action);
    this.#periodic.add(action);
    return {
      cancel: () => {
        this.#periodic.delete(action);
        timer.cancel();
      },
    };
  };

  runPeriodic(): void {
    for (const action of this.#periodic) action();
  }
}
