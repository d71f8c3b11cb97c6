import type { LoggedEvent } from '../../events/journal/event-log.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AwaitedDeliveries, AwaitedOutcome } from '../../webhooks/engine/delivery-store.ts';
import type { EventHandlerOptions } from '../../webhooks/options.ts';
import type { DeliveryLeases } from './delivery-leases.ts';

/** How often the outcome of another node's delivery is looked for. */
const lookEveryMs = 250;

/** What a delivery may take beyond its time-outs and pauses. */
const graceMs = 60_000;

/** Deliveries that uploads on any node wait for, as the node that delivers for the handler sees them. */
export class SharedUploadDeliveries implements AwaitedDeliveries {
  readonly #leases: DeliveryLeases;
  readonly #handler: string;
  readonly #longestMs: number;
  readonly #clock: Clock;
  readonly #isOver: AbortSignal;

  /** @param isOver ends the waiting */
  constructor(leases: DeliveryLeases, handler: string, options: EventHandlerOptions, clock: Clock, isOver: AbortSignal) {
    this.#leases = leases;
    this.#handler = handler;
    this.#clock = clock;
    this.#isOver = isOver;
    const { url, timeout, retry_count, retry_increase } = options;
    const pausesS = (retry_increase * retry_count * (retry_count + 1)) / 2;
    this.#longestMs = url.length * (timeout * (retry_count + 1) + pausesS) * 1000 + graceMs;
  }

  async outcomeOf(logged: LoggedEvent): Promise<AwaitedOutcome> {
    const known = await this.#look(logged);
    return known === undefined ? { willBeMade: this.#wait(logged) } : { isMade: known };
  }

  async #wait(logged: LoggedEvent): Promise<boolean> {
    for (;;) {
      try {
        await this.#clock.sleep(lookEveryMs, this.#isOver);
      } catch {
        // Nobody delivers here any more; the next owner finds out anew.
        return new Promise(() => {});
      }
      const known = await this.#look(logged);
      if (known !== undefined) return known;
    }
  }

  /** @returns undefined while a node that lives may still be at it */
  async #look({ event, node }: LoggedEvent): Promise<boolean | undefined> {
    try {
      const settled = await this.#leases.settled(this.#handler, event.uuid);
      if (settled !== undefined) return settled;
      const ageMs = this.#clock.nowMs() - Number(event.timestamp.timestamp) * 1000;
      return ageMs > this.#longestMs || node === undefined || !(await this.#leases.isAlive(node)) ? false : undefined;
    } catch {
      return undefined;
    }
  }
}
