import type { ServiceEvent } from '../../events/event.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import { DeliveryHistory } from '../../webhooks/records/delivery-history.ts';
import { createSubscription, type Subscription } from '../../webhooks/subscription.ts';
import type { Journal } from './journal-shape.ts';
import { WaitingEvents } from './waiting-events.ts';

/** What `--failed` selects: events that were failed, discarded or never sent, and that no running service is going to send. */
export class UndeliveredEvents {
  readonly #history: DeliveryHistory;
  readonly #waiting: WaitingEvents | undefined;
  readonly #subscriptions: ReadonlyMap<string, Subscription>;

  private constructor(history: DeliveryHistory, waiting: WaitingEvents | undefined, subscriptions: ReadonlyMap<string, Subscription>) {
    this.#history = history;
    this.#waiting = waiting;
    this.#subscriptions = subscriptions;
  }

  /** @param isFile whether the events come from a file, where they have no places in the journal */
  static async read(journal: Journal, isFile: boolean, onBadLine: (reason: string) => void): Promise<UndeliveredEvents> {
    const enabled = Object.entries(journal.config?.event_handlers ?? {}).filter(([, handler]) => handler.enabled);
    return new UndeliveredEvents(
      await DeliveryHistory.read(journal.records, onBadLine, isFile),
      isFile ? undefined : await WaitingEvents.read(journal),
      new Map(enabled.map(([uuid, handler]) => [uuid, createSubscription(uuid, handler)])),
    );
  }

  /** Whether a handler that wants an event has not got it. */
  isMissing(handler: string, event: ServiceEvent, position: LogPosition | undefined): boolean {
    return !this.#history.isDelivered(handler, event.uuid, position) && !this.#waiting?.isWaiting(handler, position);
  }

  /** Whether some handler of the configuration wants an event and has not got it, or one that is gone failed with it. */
  isMissingSomewhere(event: ServiceEvent, group: string | undefined, position: LogPosition | undefined): boolean {
    for (const [uuid, wants] of this.#subscriptions) if (wants(event, group) && this.isMissing(uuid, event, position)) return true;
    return this.#history.handlers.some((handler) => this.#history.isUndelivered(handler, event.uuid, position));
  }
}
