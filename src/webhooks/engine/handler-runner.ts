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
  /** Records the outcome of a delivery. */
  record: (record: DeliveryRecord) => void;
  clock: Clock;
  log: Log;
}

/** Delay before a failed read of the journal is repeated. */
const readAgainMs = 1000;

/** No delivery is retried for longer (`retry_for`). */
const forgottenAfterMs = 31 * 86_400_000;

/** A request under way, here or for an upload: the position stays before the oldest of them. */
interface Flight {
  from: LogPosition;
  isDone: boolean;
}

/** Delivers the journal to one handler from its position on, in order, with up to `concurrency` requests at once. */
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
  /** Deliveries that wait for a retry, by their first event; those of the owner before until they are met. */
  readonly #waiting: Map<string, WaitingRetry>;
  #ended: Promise<void> = Promise.resolve();

  /**
   * @param status of the handler; uploads may wait for it beyond the end of this runner
   * @param from where to begin in the journal
   */
  constructor(status: HandlerStatus, from: LogPosition, dependencies: RunnerDependencies) {
    // Filters that changed meanwhile may leave an event out.
    const recent = dependencies.waiting.filter(({ sinceMs }) => dependencies.clock.nowMs() - sinceMs < forgottenAfterMs);
    this.#waiting = new Map(recent.map((wait) => [wait.event, wait]));
    this.handler = status.handler;
    this.status = status;
    this.#cursor = from;
    this.#dependencies = dependencies;
    // Each request under way listens, and uploads come in any number.
    setMaxListeners(0, this.#over.signal, this.#draining.signal);
  }

  /** Whether it takes no more events, although the handler may continue. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Everything before it is done. */
  get position(): LogPosition {
    return this.#flights[0]?.from ?? this.#batchFrom ?? this.#cursor;
  }

  /** The deliveries that wait for a retry. */
  get waiting(): WaitingRetry[] {
    return [...this.#waiting.values()];
  }

  /** @param reason reason, if an operator stopped it */
  start(reason?: string): void {
    this.status.began(reason);
    this.#ended = this.#run().catch((error) => this.status.broke(error));
  }

  /** Delivers what the journal holds by now, unless a delivery fails, and ends. @param abort gives up what is under way */
  async drain(abort: AbortSignal): Promise<void> {
    this.#drainEnd = this.#dependencies.journal.end;
    await this.#finish(abort);
  }

  /** Ends after the requests under way; waiting deliveries are left to the next owner. @param abort gives up what is under way */
  async end(abort: AbortSignal): Promise<void> {
    this.#isOver = true;
    await this.#finish(abort);
  }

  /** Gives up requests under way: another node delivers them now. */
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

  /** The next events of one request; undefined when this runner is at its end. */
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

  /** @returns whether there is more at hand */
  async #readMore(reader: EventReader): Promise<boolean> {
    const { events, next } = await this.#read(reader);
    this.#block = events;
    this.#blockIndex = 0;
    if (events.length > 0) return true;
    const isFurther = comparePositions(next, this.#cursor) > 0;
    this.#cursor = next;
    return isFurther;
  }

  // A full disk or table of descriptors may have room in a second.
  async #read(reader: EventReader): Promise<EventBlock> {
    for (;;) {
      try {
        return await reader.next(this.#cursor);
      } catch (error) {
        this.#dependencies.log.error('the journal could not be read; it is tried again', { handler: this.handler.uuid, reason: error });
        const { signal } = this.#draining;
        await this.#dependencies.clock.sleep(readAgainMs, signal).catch(() => {});
        if (signal.aborted) return { events: [], next: this.#cursor };
      }
    }
  }

  async #waitForMore(): Promise<void> {
    // Other work gets its turn even if the journal always has more.
    await new Promise(setImmediate);
    try {
      await this.#dependencies.journal.waitForMore(this.#cursor, this.#draining.signal);
    } catch {
      // It is to drain, or to end.
    }
  }

  #isDrained(): boolean {
    return this.#drainEnd !== undefined && comparePositions(this.#cursor, this.#drainEnd) >= 0;
  }

  // The position waits for the upload's delivery: a process that is killed meanwhile repeats it after its start.
  async #isTaken(logged: LoggedEvent): Promise<boolean> {
    const { event, raw, position } = logged;
    const outcome = await this.#dependencies.uploads.awaitOutcome(logged);
    if ('isMade' in outcome) return outcome.isMade;
    const flight: Flight = { from: position, isDone: false };
    this.#flights.push(flight);
    void outcome.willBeMade.then((isMade) => {
      if (isMade) this.#land(flight);
      // A runner that took over reads the event again, as the position waits for it.
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
        // The flight holds the position, and nothing comes after it.
        this.#isOver = true;
        return;
      }
      this.#dependencies.log.error('a delivery ended in an internal error', { handler: this.handler.uuid, reason: error });
      delivered = notDelivered(batch, `it could not be rendered or sent: ${(error as Error).message}`);
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

/** A delivery that was never sent; reported and recorded as failed, so that the handler continues after it. */
function notDelivered(events: readonly SentEvent[], details: string): Delivered {
  return {
    events,
    rendered: { body: undefined, contentType: undefined, query: [], recorded: { query: [] } },
    result: notSent(details),
  };
}
