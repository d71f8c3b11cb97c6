import type { Clock } from '../lib/clock.ts';
import type { EventDraft, EventServer, RequestTrace, ServiceEvent } from './event.ts';
import { type MadeEvent, makeEvent } from './event-factory.ts';
import type { EventMarks, EventSink } from './journal/event-log.ts';
import type { LogPosition } from './journal/position.ts';

/** The result of a delivery during which a request waits for the handler's reply. */
export interface BackendDelivery {
  outcome: 'delivered' | 'failed' | 'discarded' | 'unavailable';
  status?: number;
  /** Headers of the reply. The case of their names is as the server sent it. */
  headers?: [string, string][];
}

/** A handler that delivers an event while a request waits for the handler's reply. */
export interface BlockingHandler {
  /** Delivers one event that is in the journal. Never throws. */
  deliver(event: ServiceEvent, marks: EventMarks, position: LogPosition | undefined): Promise<BackendDelivery>;
  /** Reports that this event will not be delivered, because it could not be written durably. */
  abandon(event: ServiceEvent): void;
}

const changing = new WeakSet<RequestTrace>();

/** Records that a request has made a change, or is about to make one. Such a request must not be repeated automatically. */
export function recordChange(request: RequestTrace | undefined): void {
  if (request) changing.add(request);
}

export function hasChanged(request: RequestTrace): boolean {
  return changing.has(request);
}

/** Creates the events of one server, and writes them to the journal before they are delivered. */
export class JournalledDispatcher {
  readonly #sink: EventSink;
  readonly #server: EventServer;
  readonly #clock: Clock;
  readonly #blocking = new Map<string, BlockingHandler>();
  #onEvent: ((event: ServiceEvent) => void) | undefined;

  constructor(sink: EventSink, server: EventServer, clock: Clock) {
    this.#sink = sink;
    this.#server = server;
    this.#clock = clock;
  }

  /** Sets an observer that is called for every event, to update statistics. It must not throw. */
  observe(onEvent: (event: ServiceEvent) => void): void {
    this.#onEvent = onEvent;
  }

  /** Writes an event to the journal immediately, and wakes the handlers. The event is synced within 100 ms. */
  emit(draft: EventDraft): ServiceEvent {
    const { event } = this.#create(draft);
    this.#sink.append(event, { group: draft.context.group, takenBy: undefined });
    return event;
  }

  /**
   * Like `emit`, but writes the event together with the other events of this turn of the event loop. A reply that depends on the event must
   * wait for `grouped`.
   */
  emitGrouped(draft: EventDraft): void {
    const { event, dataJson } = this.#create(draft);
    this.#sink.appendGrouped(event, { group: draft.context.group, takenBy: undefined }, dataJson);
  }

  /** Resolves when all events so far are in the journal. Returns undefined if no event is waiting. Never rejects. */
  grouped(): Promise<void> | undefined {
    return this.#sink.grouped();
  }

  /** Like `emit`, but the event is on disk when the promise resolves. @throws ServiceError `storage-full` or `internal` */
  async emitDurable(draft: EventDraft): Promise<ServiceEvent> {
    recordChange(draft.context.request);
    const { event, dataJson } = this.#create(draft);
    await this.#sink.appendDurable(event, { group: draft.context.group, takenBy: undefined }, dataJson);
    return event;
  }

  /**
   * Like `emitDurable`, but resolves only when every node can read the event. There is no time limit.
   *
   * @throws ServiceError `storage-full` or `internal`; `unavailable` if the service ends first
   */
  async emitShared(draft: EventDraft): Promise<void> {
    await this.emitDurable(draft);
    await this.#sink.untilShared();
  }

  /**
   * Must be called before a change is made. @throws ServiceError `storage-full` or `internal` if the journal could not record the change.
   * In that case, the caller must not make the change
   */
  assertWritable(): void {
    this.#sink.assertWritable();
  }

  /**
   * Like `emitDurable`, then waits for the outcome of the delivery by one handler. The other handlers deliver the event in the background.
   */
  async emitAndWait(draft: EventDraft, handlerUuid: string): Promise<{ event: ServiceEvent; delivery: BackendDelivery }> {
    recordChange(draft.context.request);
    const { event, dataJson } = this.#create(draft);
    const marks = { group: draft.context.group, takenBy: this.#blocking.has(handlerUuid) ? handlerUuid : undefined };
    let position: LogPosition | undefined;
    try {
      position = await this.#sink.appendDurable(event, marks, dataJson);
    } catch (error) {
      this.#blocking.get(handlerUuid)?.abandon(event);
      throw error;
    }
    // A reload may have replaced the handler meanwhile.
    const handler = marks.takenBy === undefined ? undefined : this.#blocking.get(handlerUuid);
    return { event, delivery: handler ? await handler.deliver(event, marks, position) : { outcome: 'unavailable' } };
  }

  /** Sets the handler that delivers for `emitAndWait`. @returns a function that removes it */
  registerBlockingHandler(handlerUuid: string, handler: BlockingHandler): () => void {
    this.#blocking.set(handlerUuid, handler);
    return () => {
      if (this.#blocking.get(handlerUuid) === handler) this.#blocking.delete(handlerUuid);
    };
  }

  #create(draft: EventDraft): MadeEvent {
    const made = makeEvent(draft, this.#server, this.#clock.nowMs());
    this.#onEvent?.(made.event);
    return made;
  }
}

/** The part of the dispatcher that modules need to emit events. */
export type EventDispatcher = Pick<
  JournalledDispatcher,
  'emit' | 'emitGrouped' | 'grouped' | 'emitDurable' | 'emitAndWait' | 'assertWritable'
>;
