import type { ServiceEvent } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { journalEvents, type SearchedJournal } from '../../events/journal/event-search.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { EventHandlerOptions } from '../options.ts';
import { DeliveryHistory, type HistoryBounds } from '../records/delivery-history.ts';
import type { DeliveryRecords } from '../records/delivery-record.ts';
import { createSubscription, type Subscription } from '../subscription.ts';

/** The journal of a service, or of all nodes of one, as events are sent from it again. */
export interface ReplayedJournal extends SearchedJournal {
  config: { event_handlers: Readonly<Record<string, EventHandlerOptions>> } | undefined;
  records: DeliveryRecords;
  /** Where the handlers stand that are going to deliver what is behind: those that run, and those that are paused. */
  waitingPositions(): Promise<ReadonlyMap<string, LogPosition>>;
}

/** What `--failed` selects: events that were failed, discarded or never sent, and that no running service is going to send. */
export class UndeliveredEvents {
  readonly #history: DeliveryHistory;
  /** The events that a running service is still going to deliver: sending them by hand would double them. */
  readonly #waiting: ReadonlyMap<string, LogPosition>;
  readonly #subscriptions: ReadonlyMap<string, Subscription>;

  private constructor(
    history: DeliveryHistory,
    waiting: ReadonlyMap<string, LogPosition>,
    subscriptions: ReadonlyMap<string, Subscription>,
  ) {
    this.#history = history;
    this.#waiting = waiting;
    this.#subscriptions = subscriptions;
  }

  /** @param isFile whether the events come from a file, where they have no places in the journal */
  static async read(
    journal: ReplayedJournal,
    isFile: boolean,
    onBadLine: (reason: string) => void,
    bounds?: HistoryBounds,
  ): Promise<UndeliveredEvents> {
    const enabled = Object.entries(journal.config?.event_handlers ?? {}).filter(([, handler]) => handler.enabled);
    return new UndeliveredEvents(
      await DeliveryHistory.read(journal.records, onBadLine, isFile, bounds),
      isFile ? new Map() : await journal.waitingPositions(),
      new Map(enabled.map(([uuid, handler]) => [uuid, createSubscription(uuid, handler)])),
    );
  }

  /** Whether a handler that wants an event has not got it. */
  isMissing(handler: string, event: ServiceEvent, position: LogPosition | undefined): boolean {
    return !this.#history.isDelivered(handler, event.uuid, position) && !this.#isWaiting(handler, position);
  }

  /** Whether some handler of the configuration wants an event and has not got it, or one that is gone failed with it. */
  isMissingSomewhere(event: ServiceEvent, group: string | undefined, position: LogPosition | undefined): boolean {
    for (const [uuid, wants] of this.#subscriptions) if (wants(event, group) && this.isMissing(uuid, event, position)) return true;
    return this.#history.handlers.some((handler) => this.#history.isUndelivered(handler, event.uuid, position));
  }

  #isWaiting(handler: string, position: LogPosition | undefined): boolean {
    const from = this.#waiting.get(handler);
    return from !== undefined && position !== undefined && comparePositions(position, from) >= 0;
  }
}

/** Handlers that have stopped, as the journal's events tell. */
export async function stoppedHandlers(journal: SearchedJournal): Promise<Set<string>> {
  const stopped = new Set<string>();
  for await (const { event } of journalEvents(
    journal,
    { id: [eventIds.componentStarted, eventIds.componentStopped], uuid: [] },
    () => {},
  )) {
    if (event.data.family !== 'event-handler') continue;
    if (event.id === String(eventIds.componentStopped)) stopped.add(String(event.data.uuid));
    if (event.id === String(eventIds.componentStarted)) stopped.delete(String(event.data.uuid));
  }
  return stopped;
}
