import { ServiceError } from '../errors.ts';

export interface FairQueueLimits {
  concurrency: number;
  maxWaitingPerParty: number;
  maxWaiting: number;
}

/**
 * Limits how many callers run at the same time. Each caller belongs to a party, such as a client's address. Waiting parties take turns, so
 * that a party with many callers does not block the other parties.
 */
export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #urgent: (() => void)[] = [];
  /** Waiting callers by party. The first party in the map is the next one. */
  readonly #queues = new Map<string, (() => void)[]>();
  #waiting = 0;
  #running = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  /**
   * Waits until the caller may run.
   *
   * @param isUrgent whether the caller goes before all callers that are not urgent. The limits on waiting callers do not apply to urgent
   *   ones
   * @returns a function that the caller must call when it has ended
   * @throws ServiceError `unavailable` if too many callers are waiting already
   */
  async take(party: string, isUrgent = false): Promise<() => void> {
    if (this.#running < this.#limits.concurrency) this.#running++;
    else await this.#wait(party, isUrgent);
    return () => this.#end();
  }

  #wait(party: string, isUrgent: boolean): Promise<void> {
    if (isUrgent) return new Promise((resolve) => this.#urgent.push(resolve));
    const queue = this.#queues.get(party) ?? [];
    if (queue.length >= this.#limits.maxWaitingPerParty || this.#waiting >= this.#limits.maxWaiting)
      throw new ServiceError('unavailable', 'Too many requests are waiting; try again later.');
    this.#waiting++;
    this.#queues.set(party, queue);
    return new Promise((resolve) => queue.push(resolve));
  }

  #end(): void {
    const next = this.#urgent.shift() ?? this.#next();
    if (next) next();
    else this.#running--;
  }

  #next(): (() => void) | undefined {
    const [first] = this.#queues;
    if (!first) return undefined;
    const [party, queue] = first;
    const next = queue.shift();
    this.#waiting--;
    // The party moves to the end of the rotation.
    this.#queues.delete(party);
    if (queue.length > 0) this.#queues.set(party, queue);
    return next;
  }
}
