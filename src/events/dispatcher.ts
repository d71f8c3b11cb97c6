import type { Clock } from '../lib/clock.ts';
import type { EventDraft, EventServer, ServiceEvent } from './event.ts';
import { createEvent } from './event-factory.ts';
import type { EventLog } from './event-log.ts';
import type { LogPosition } from './event-log-position.ts';

/** What came of delivering an event to the handler that a request waits for. */
export interface BackendDelivery {
  outcome: 'delivered' | 'failed' | 'discarded' | 'unavailable';
  status?: number;
  /** Headers of the reply, names as sent. */
  headers?: [string, string][];
}

/** An event as listeners get it. */
export interface EmittedEvent {
  event: ServiceEvent;
  /** Group of the account, for filters; not part of the event. */
  group: string | undefined;
  /** Where it stands in the journal, when it could be written. */
  position: LogPosition | undefined;
  /**
   * The handler that a request waits for: it is not delivered to that one in the background. The journal carries no mark
   * of this; a handler that is killed before it recorded the outcome delivers the event after the restart (at least once).
   */
  takenBy: string | undefined;
}

/** Delivers one event while a request waits. Never throws. */
export type BlockingHandler = (event: ServiceEvent) => Promise<BackendDelivery>;

/** What modules that emit events need. */
export interface EventDispatcher {
  /** Journals an event (written at once, synced within 100 ms) and tells the listeners. */
  emit(draft: EventDraft): ServiceEvent;
  /**
   * Journals an event and tells the listeners; it is on disk when the promise resolves.
   *
   * @throws ServiceError `storage-full` or `internal`
   */
  emitDurable(draft: EventDraft): Promise<ServiceEvent>;
  /** Like `emitDurable`, and then waits for the delivery by one handler; the others get the event as usual. */
  emitAndWait(draft: EventDraft, handlerUuid: string): Promise<{ event: ServiceEvent; delivery: BackendDelivery }>;
  /** @throws ServiceError `storage-full` when a change could not be recorded: it must not be made */
  assertWritable(): void;
}

/** The dispatcher of one server: journal first, then everybody who wants to know. */
export class JournalledDispatcher implements EventDispatcher {
  readonly #log: EventLog;
  readonly #server: EventServer;
  readonly #clock: Clock;
  readonly #listeners = new Set<(emitted: EmittedEvent) => void>();
  readonly #blocking = new Map<string, BlockingHandler>();

  constructor(log: EventLog, server: EventServer, clock: Clock) {
    this.#log = log;
    this.#server = server;
    this.#clock = clock;
  }

  emit(draft: EventDraft): ServiceEvent {
    const event = createEvent(draft, this.#server, this.#clock.nowMs());
    this.#tell(draft, event, this.#log.append(event), undefined);
    return event;
  }

  async emitDurable(draft: EventDraft): Promise<ServiceEvent> {
    const event = createEvent(draft, this.#server, this.#clock.nowMs());
    this.#tell(draft, event, await this.#log.appendDurable(event), undefined);
    return event;
  }

  async emitAndWait(draft: EventDraft, handlerUuid: string): Promise<{ event: ServiceEvent; delivery: BackendDelivery }> {
    const event = createEvent(draft, this.#server, this.#clock.nowMs());
    const position = await this.#log.appendDurable(event);
    const handler = this.#blocking.get(handlerUuid);
    this.#tell(draft, event, position, handler && handlerUuid);
    return { event, delivery: handler ? await handler(event) : { outcome: 'unavailable' } };
  }

  assertWritable(): void {
    this.#log.assertWritable();
  }

  /** @returns a function that ends the subscription */
  onEvent(listener: (emitted: EmittedEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Names the one who delivers for `emitAndWait`. @returns a function that takes it back */
  registerBlockingHandler(handlerUuid: string, handler: BlockingHandler): () => void {
    this.#blocking.set(handlerUuid, handler);
    return () => {
      if (this.#blocking.get(handlerUuid) === handler) this.#blocking.delete(handlerUuid);
    };
  }

  #tell(draft: EventDraft, event: ServiceEvent, position: LogPosition | undefined, takenBy: string | undefined): void {
    for (const listener of this.#listeners) listener({ event, group: draft.context.group, position, takenBy });
  }
}
