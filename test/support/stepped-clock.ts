import { systemClock } from '../../src/lib/clock.ts';
import { ShiftedClock } from './shifted-clock.ts';

/** A clock that jumps, and whose periodic work is also done when it is told to. */
export class SteppedClock extends ShiftedClock {
  readonly #periodic: (() => void)[] = [];
  override readonly every = (periodMs: number, action: () => void) => {
    this.#periodic.push(action);
    return systemClock.every(periodMs, action);
  };

  runPeriodic(): void {
    for (const action of this.#periodic) action();
  }
}
