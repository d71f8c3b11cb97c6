import { setMaxListeners } from 'node:events';
import type { EventBlock, EventLog, EventReader, LoggedEvent } from '../../events/journal/event-log.ts';
import { comparePositions, formatPosition, type LogPosition } from '../../events/journal/position.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { DeliveryInterrupted, type DeliverySignals, notSent } from '../delivery.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { WaitingRetry } from '../retries.ts';
import type { Delivered, SentEvent, WebhookHandler } from '../webhook-handler.ts';
import type { Ownership } from './delivery-store.ts';
import type { HandlerStatus } from './handler-status.ts';

export interface RunnerDependencies extends Pick<Ownership, 'uploads' | 'mayRequest' | 'waiting'> {
  journal: EventLog;
  record: (record: DeliveryRecord) => void;
  clock: Clock;
  log: Log;
}

/** Pause in milliseconds before a failed read of the journal is repeated. */
const readAgainMs = 1000;

/** Age in milliseconds at which a waiting retry is dropped. It is longer than the longest `retry_for`. */
const forgottenAfterMs = 31 * 86_400_000;

/**
 * A running request, made by this runner or by an upload that waits for the handler. The handler's position stays before the oldest running
 * request.
 */
interface Flight {
  from: LogPosition;
  isDone: boolean;
}

/** Delivers the journal to one handler in order, from its position on. Up to `concurrency` requests run at the same time. */
export class HandlerRunner {
  readonly handler: WebhookHandler;
  readonly #dependencies: RunnerDependencies;
  readonly status: HandlerStatus;
  readonly #flights: Flight[] = [];
  readonly #over = new AbortController();
  readonly #draining = new AbortController();
  #cursor: LogPosition;
  #batchFrom: LogPosition | undefined;
  #block: LoggedEvent[] = [];
  #blockIndex = 0;
  #drainEnd: LogPosition | undefined;
  #freeSlot: (() => void) | undefined;
  #requests = 0;
  #isOver = false;
  /**
   * The deliveries that wait for a retry, by their first event. Deliveries of the previous owner are included until this runner reaches
   * them.
   */
  readonly #waiting: Map<string, WaitingRetry>;
  #ended: Promise<void> = Promise.resolve();

  /**
   * @param status status of the handler. It can outlive this runner, because uploads may still wait for the handler
   * @param from position in the journal at which to begin
   */
  constructor(status: HandlerStatus, from: LogPosition, dependencies: RunnerDependencies) {
    // Old entries are dropped, because after a change of the filters this runner may never reach their events.
    const recent = dependencies.waiting.filter(({ sinceMs }) => dependencies.clock.nowMs() - sinceMs < forgottenAfterMs);
    this.#waiting = new Map(recent.map((wait) => [wait.event, wait]));
    this.handler = status.handler;
    this.status = status;
    this.#cursor = from;
    this.#dependencies = dependencies;
    // Each running request adds a listener, and any number of uploads can wait. Node.js must not warn about many listeners.
    setMaxListeners(0, this.#over.signal, this.#draining.signal);
  }

  /** Whether this runner takes no further events, because it has ended or is ending. Another runner can then continue for the handler. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** All events before this position were handled. */
  get position(): LogPosition {
    return this.#flights[0]?.from ?? this.#batchFrom ?? this.#cursor;
  }

  get waiting(): WaitingRetry[] {
    return [...this.#waiting.values()];
  }

  /** @param reason reason of the operator's request that started the handler, if any */
  start(reason?: string): void {
    this.status.began(reason);
    this.#ended = this.#run().catch((error) => this.status.broke(error));
  }

  /** Delivers the events that are in the journal now, until the first failure, and ends. @param abort cancels running requests */
  async drain(abort: AbortSignal): Promise<void> {
    this.#drainEnd = this.#dependencies.journal.end;
    await this.#finish(abort);
  }

  /**
   * Takes no further events, and ends when the running requests have ended. Deliveries that wait for a retry are left to the next owner.
   * @param abort cancels running requests
   */
  async end(abort: AbortSignal): Promise<void> {
    this.#isOver = true;
    await this.#finish(abort);
  }

  /** Cancels the running requests, because another node now makes the deliveries. */
  async abandon(): Promise<void> {
    this.#isOver = true;
    this.#over.abort();
    this.#draining.abort();
    await this.#ended;
  }

  async #finish(abort: AbortSignal): Promise<void> {
    this.#draining.abort();
    const giveUp = () => this.#over.abort();
    if (abort.aborted) giveUp();
    abort.addEventListener('abort', giveUp);
    await this.#ended;
    abort.removeEventListener('abort', giveUp);
  }

  async #run(): Promise<void> {
    const { journal, log } = this.#dependencies;
    const reader = journal.openReader((bad) => log.warn('a line of the journal was skipped', { handler: this.handler.uuid, ...bad }));
    const requests = new Set<Promise<void>>();
    try {
      for (;;) {
        const batch = await this.#nextBatch(reader);
        if (!batch) break;
        const flight: Flight = { from: this.#batchFrom as LogPosition, isDone: false };
        this.#flights.push(flight);
        this.#batchFrom = undefined;
        this.#requests++;
        const request = this.#deliver(batch, flight).finally(() => {
          this.#requests--;
          requests.delete(request);
          this.#freeSlot?.();
        });
        requests.add(request);
        while (this.#requests >= this.handler.options.concurrency) await new Promise<void>((resolve) => (this.#freeSlot = resolve));
      }
    } finally {
      await Promise.all(requests);
      reader.close();
      this.#isOver = true;
    }
  }

  async #nextBatch(reader: EventReader): Promise<SentEvent[] | undefined> {
    const batch: SentEvent[] = [];
    while (batch.length < this.handler.batchSize) {
      if (!this.#isRunning || this.#over.signal.aborted) return undefined;
      const logged = this.#block[this.#blockIndex];
      if (!logged) {
        if (await this.#readMore(reader)) continue;
        if (batch.length > 0) return batch;
        if (this.#draining.signal.aborted) return undefined;
        await this.#waitForMore();
        continue;
      }
      if (batch.length === 0 && this.#isDrained()) return undefined;
      this.#blockIndex++;
      const { event, raw, position, group } = logged;
      if (!this.handler.wants(event, group)) {
        this.#cursor = logged.next;
        continue;
      }
      if (logged.takenBy === this.handler.uuid && (await this.#isTaken(logged))) {
        this.#cursor = logged.next;
        continue;
      }
      this.#batchFrom ??= position;
      this.#cursor = logged.next;
      batch.push({ event, raw, position });
    }
    return batch;
  }

  /** @returns whether more events can be read immediately */
  async #readMore(reader: EventReader): Promise<boolean> {
    const { events, next } = await this.#read(reader);
    this.#block = events;
    this.#blockIndex = 0;
    if (events.length > 0) return true;
    const isFurther = comparePositions(next, this.#cursor) > 0;
    this.#cursor = next;
    return isFurther;
  }

  // Tries again after an error, because its cause, such as too many open files, may soon be gone.
  async #read(reader: EventReader): Promise<EventBlock> {
    for (;;) {
      try {
        return await reader.next(this.#cursor);
      } catch (error) {
        this.#dependencies.log.error('the journal could not be read; this is tried again', { handler: this.handler.uuid, reason: error });
        const { signal } = this.#draining;
        await this.#dependencies.clock.sleep(readAgainMs, signal).catch(() => {});
        if (signal.aborted) return { events: [], next: this.#cursor };
      }
    }
  }

  async #waitForMore(): Promise<void> {
    // Lets other work run, even if the journal always has more events.
    await new Promise(setImmediate);
    try {
      await this.#dependencies.journal.waitForMore(this.#cursor, this.#draining.signal);
    } catch {
      // The runner drains or ends.
    }
  }

  #isDrained(): boolean {
    return this.#drainEnd !== undefined && comparePositions(this.#cursor, this.#drainEnd) >= 0;
  }

  // Returns true if the event was delivered while an upload waited, or if that is not known yet. In the second case, the position stays
  // before the event, so that a restart repeats the delivery.
  async #isTaken(logged: LoggedEvent): Promise<boolean> {
    const { event, raw, position } = logged;
    const outcome = await this.#dependencies.uploads.awaitOutcome(logged);
    if ('isMade' in outcome) return outcome.isMade;
    const flight: Flight = { from: position, isDone: false };
    this.#flights.push(flight);
    void outcome.willBeMade.then((isMade) => {
      if (isMade) this.#land(flight);
      // If this runner has ended, the next one reads the event again, because the position stayed before it.
      else if (this.#isRunning) return this.#deliver([{ event, raw, position }], flight);
      return undefined;
    });
    return true;
  }

  async #deliver(batch: SentEvent[], flight: Flight): Promise<void> {
    const event = (batch[0] as SentEvent).event.uuid;
    const signals: DeliverySignals = {
      abort: this.#over.signal,
      noRetry: this.#draining.signal,
      mayRequest: this.#dependencies.mayRequest,
      isBackground: true,
      resume: this.#waiting.get(event),
      onWait: (wait) => this.#waiting.set(event, { event, ...wait }),
    };
    let delivered: Delivered;
    try {
      delivered = await this.handler.deliver(batch, signals);
    } catch (error) {
      if (error instanceof DeliveryInterrupted) {
        // The position stays before the unfinished request, and this runner delivers no further events.
        this.#isOver = true;
        return;
      }
      this.#dependencies.log.error('a delivery ended in an internal error', { handler: this.handler.uuid, reason: error });
      delivered = notDelivered(batch, `the request could not be rendered or sent: ${(error as Error).message}`);
    }
    for (const sent of batch) this.#waiting.delete(sent.event.uuid);
    const isLast = this.#drainEnd !== undefined && delivered.result.outcome !== 'delivered';
    this.status.tell(delivered);
    this.#land(flight);
    this.#dependencies.record(this.handler.record(delivered, { resume: formatPosition(this.position) }));
    this.status.count(delivered);
    if (isLast) this.#isOver = true;
  }

  get #isRunning(): boolean {
    return !this.#isOver && this.status.state === 'running';
  }

  #land(flight: Flight): void {
    flight.isDone = true;
    while (this.#flights[0]?.isDone) this.#flights.shift();
  }
}

function notDelivered(events: readonly SentEvent[], details: string): Delivered {
  return {
    events,
    rendered: { body: undefined, contentType: undefined, query: [], recorded: { query: [] } },
    result: notSent(details),
  };
}
