import type { Clock } from '../lib/clock.ts';
import type { EventDraft, EventServer, RequestTrace, ServiceEvent } from './event.ts';
import { type MadeEvent, makeEvent } from './event-factory.ts';
import type { EventMarks, EventSink } from './journal/event-log.ts';
import type { LogPosition } from './journal/position.ts';

/** The result of delivering an event to the handler that a request waits for. */
export interface BackendDelivery {
  outcome: 'delivered' | 'failed' | 'discarded' | 'unavailable';
  status?: number;
  /** Headers of the reply, names as sent. */
  headers?: [string, string][];
}

/** Delivers events while requests wait. */
export interface BlockingHandler {
  /** Delivers one event that is in the journal. Never throws. */
  deliver(event: ServiceEvent, marks: EventMarks, position: LogPosition | undefined): Promise<BackendDelivery>;
  /** Stops waiting for the delivery of this event, which could not be written durably. */
  abandon(event: ServiceEvent): void;
}

const changing = new WeakSet<RequestTrace>();

/** Records that a request has changed something, or is about to, so that repeating it could do that twice. */
export function recordChange(request: RequestTrace | undefined): void {
  if (request) changing.add(request);
}

export function hasChanged(request: RequestTrace): boolean {
  return changing.has(request);
}

/** The dispatcher of one server: makes events, and journals them before they are delivered. */
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

  /** Sets the observer of every event, for figures; it must not throw. */
  observe(onEvent: (event: ServiceEvent) => void): void {
    this.#onEvent = onEvent;
  }

  /** Journals an event (written at once, synced within 100 ms) and wakes the handlers. */
  emit(draft: EventDraft): ServiceEvent {
    const { event } = this.#create(draft);
    this.#sink.append(event, { group: draft.context.group, takenBy: undefined });
    return event;
  }

  /**
   * Like `emit`, but written together with the other events of this turn of the event loop; a reply that depends on it waits for `grouped`.
   */
  emitGrouped(draft: EventDraft): void {
    const { event, dataJson } = this.#create(draft);
    this.#sink.appendGrouped(event, { group: draft.context.group, takenBy: undefined }, dataJson);
  }

  /** Resolves once all events so far are in the journal; undefined when none waits. Never rejects. */
  grouped(): Promise<void> | undefined {
    return this.#sink.grouped();
  }

  /** Like `emit`, and the event is on disk when the promise resolves. @throws ServiceError `storage-full` or `internal` */
  async emitDurable(draft: EventDraft): Promise<ServiceEvent> {
    recordChange(draft.context.request);
    const { event, dataJson } = this.#create(draft);
    await this.#sink.appendDurable(event, { group: draft.context.group, takenBy: undefined }, dataJson);
    return event;
  }

  /**
   * Like `emitDurable`, and every node can read the event when the promise resolves, however long that takes.
   *
   * @throws ServiceError `storage-full` or `internal`; `unavailable` when the service ends before
   */
  async emitShared(draft: EventDraft): Promise<void> {
    await this.emitDurable(draft);
    await this.#sink.untilShared();
  }

  /** @throws ServiceError `storage-full` when a change could not be recorded: it must not be made */
  assertWritable(): void {
    this.#sink.assertWritable();
  }

  /** Like `emitDurable`, and then waits for the delivery by one handler; the others get the event as usual. */
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

/** The part of the dispatcher that emitting modules need. */
export type EventDispatcher = Pick<
  JournalledDispatcher,
  'emit' | 'emitGrouped' | 'grouped' | 'emitDurable' | 'emitAndWait' | 'assertWritable'
>;
