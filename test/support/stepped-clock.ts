import { systemClock, type Timer } from '../../src/lib/clock.ts';
import { ShiftedClock } from './shifted-clock.ts';

/** A clock that jumps, and whose periodic work is also done when it is told to. */
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
