import type { BackendDelivery, BlockingHandler, JournalledDispatcher } from '../../events/dispatcher.ts';
import type { EventLog } from '../../events/journal/event-log.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { RateMeter } from '../../lib/rate-meter.ts';
import { DeliveryInterrupted } from '../delivery.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { WebhookHandler } from '../webhook-handler.ts';
import type { DeliveryStore, HandlerProgress, NodeShare, Ownership } from './delivery-store.ts';
import { HandlerRunner } from './handler-runner.ts';
import { HandlerStatus } from './handler-status.ts';

interface BlockingDependencies {
  /** Gives up what is under way. */
  abort: AbortSignal;
  /** Told whether a delivery was made; one that was interrupted was not. */
  settle: (eventUuid: string, isMade: boolean, position?: LogPosition) => void;
  record: (record: DeliveryRecord) => void;
  log: Log;
}

/**
 * Delivers single events while uploads wait (docs/spec/delivery.md#upload-back-end).
 *
 * @param present the status at each delivery: told of the outcome; nothing is delivered once the handler has stopped
 */
function blockingHandler(present: () => HandlerStatus, dependencies: BlockingDependencies): BlockingHandler {
  const { abort, settle, record, log } = dependencies;
  return {
    async deliver(event, marks, position): Promise<BackendDelivery> {
      const status = present();
      const { handler } = status;
      if (!handler.wants(event, marks.group) || status.state !== 'running') {
        settle(event.uuid, false, position);
        return { outcome: 'unavailable' };
      }
      try {
        const sent = { event, raw: Buffer.from(JSON.stringify(event)), ...(position && { position }) };
        const delivered = await handler.deliver([sent], { abort });
        record(handler.record(delivered, { source: 'upload' }));
        settle(event.uuid, true, position);
        status.tell(delivered);
        status.count(delivered);
        const { result } = delivered;
        return { outcome: result.outcome, headers: result.headers, ...(result.status !== undefined && { status: result.status }) };
      } catch (error) {
        settle(event.uuid, false, position);
        if (!(error instanceof DeliveryInterrupted))
          log.error('a delivery that an upload waits for failed', { handler: handler.uuid, reason: error });
        return { outcome: 'failed' };
      }
    },
    abandon: (event) => settle(event.uuid, false),
  };
}

/** How often a handler that is not this process's is asked for, and one that is, is kept. */
const askEveryMs = 1000;

/** A handler that goes on so soon after somebody wanted it does so for that reason. */
const reasonForMs = 60_000;

export interface PlaceDependencies {
  store: DeliveryStore;
  journal: EventLog;
  events: JournalledDispatcher;
  clock: Clock;
  log: Log;
  rate: RateMeter;
  /** Gives up what is under way. */
  abort: AbortSignal;
  onDelivery: ((record: DeliveryRecord) => void) | undefined;
  /** Makes the handler anew. @throws ServiceError `unavailable` when its certificate authorities cannot be read */
  make: () => WebhookHandler;
  share: () => NodeShare;
}

/** One handler in this process: delivers while it owns the handler, waits to own it otherwise, and delivers while uploads wait. */
export class LocalHandler {
  readonly options: EventHandlerOptions;
  readonly #uuid: string;
  readonly #dependencies: PlaceDependencies;
  readonly #ended: Promise<void>;
  #status: HandlerStatus;
  #runner: HandlerRunner | undefined;
  #unregister: (() => void) | undefined;
  #wake = new AbortController();
  #isLeaving = false;
  #isEnding = false;
  #drains = false;
  /** Resolves once it delivers, or cannot do so at first. */
  readonly #tried: Promise<void>;
  #hasTried: () => void = () => {};

  /**
   * @param handler is closed with the place
   * @param before the end of the place that this one follows
   */
  constructor(handler: WebhookHandler, before: Promise<void> | undefined, dependencies: PlaceDependencies) {
    this.options = handler.options;
    this.#uuid = handler.uuid;
    this.#dependencies = dependencies;
    this.#status = new HandlerStatus(handler, dependencies);
    this.#tried = new Promise((resolve) => {
      this.#hasTried = resolve;
    });
    if (!this.#isPaused) this.#register();
    this.#ended = this.#run(before);
  }

  /** The runner while this process owns the handler. */
  get runner(): HandlerRunner | undefined {
    return this.#runner;
  }

  /** Whether this process owns the handler, and is not about to hand it over. */
  get isOwner(): boolean {
    return this.#runner !== undefined && !this.#isLeaving;
  }

  /** Whether it stopped here after too many failures. */
  get isStopped(): boolean {
    return (this.#runner ?? this).status.state === 'stopped';
  }

  /** Counts outcomes of the runner and of deliveries that uploads wait for. */
  get status(): HandlerStatus {
    return this.#status;
  }

  /** Makes the handler anew, which was paused or stopped. @throws as `make` */
  renew(): void {
    const handler = this.#dependencies.make();
    this.#status.handler.close();
    this.#status = new HandlerStatus(handler, this.#dependencies);
  }

  /** Follows a change of its order: uploads wait for no handler that is paused, whose events are delivered once it goes on. */
  followOrder(): void {
    if (this.#isEnding || this.#isPaused === (this.#unregister === undefined)) return;
    if (this.#isPaused) this.unregister();
    else this.#register();
    this.wake();
  }

  /** Looks for orders now. */
  wake(): void {
    this.#wake.abort();
  }

  /** Uploads do not wait for it any more. */
  unregister(): void {
    this.#unregister?.();
    this.#unregister = undefined;
  }

  /**
   * Ends after the requests under way, and gives the handler up.
   *
   * @param drains first delivers what the journal holds by now, unless a delivery fails
   */
  async end({ drains = false } = {}): Promise<void> {
    if (drains) await this.#tried;
    this.#drains = drains;
    this.#isEnding = true;
    // Nothing more begins from now on, unless it drains.
    if (!drains) this.#status.end();
    this.wake();
    await this.#ended;
    this.#status.end();
    this.#status.handler.close();
  }

  get #isPaused(): boolean {
    return this.#dependencies.store.order(this.#uuid)?.state === 'paused';
  }

  async #run(before: Promise<void> | undefined): Promise<void> {
    const { store, log, share } = this.#dependencies;
    await before;
    while (!this.#isEnding) {
      try {
        await store.refresh();
        const owned = this.#isPaused ? undefined : await store.acquire(this.#status.handler, share());
        if (owned) await this.#own(owned);
      } catch (error) {
        log.debug('an event handler cannot be owned', { handler: this.#uuid, reason: error });
      }
      this.#hasTried();
      await this.#idle();
    }
    this.#hasTried();
  }

  async #idle(): Promise<void> {
    if (!this.#isEnding) await this.#dependencies.clock.sleep(askEveryMs, this.#wake.signal).catch(() => {});
    this.#wake = new AbortController();
  }

  async #own(owned: Ownership): Promise<void> {
    const { log, abort } = this.#dependencies;
    const runner = this.#startRunner(owned);
    if (!runner) return owned.release(owned.position);
    const giveUp = () => void runner.abandon();
    owned.lost.addEventListener('abort', giveUp);
    this.#hasTried();
    await this.#keep(owned, runner);
    if (owned.lost.aborted) await runner.abandon();
    else await this.#holdUntil(this.#drains ? runner.drain(abort) : runner.end(abort), owned, runner);
    owned.lost.removeEventListener('abort', giveUp);
    this.#runner = undefined;
    this.#isLeaving = false;
    // Failures count anew once it is resumed.
    if (this.#isPaused) this.#status.end();
    if (owned.lost.aborted) log.warn('event handler given up: its lease could not be kept', { handler: this.#uuid });
    await owned.release(runner.position);
  }

  #startRunner(owned: Ownership): HandlerRunner | undefined {
    const { store, journal, clock, log } = this.#dependencies;
    try {
      if (this.#status.state !== 'running') this.renew();
    } catch (error) {
      log.error('an event handler cannot go on; it is tried again', { handler: this.#uuid, reason: error });
      return undefined;
    }
    const runner: HandlerRunner = new HandlerRunner(this.#status, owned.position, {
      journal,
      log,
      uploads: owned.uploads,
      mayRequest: owned.mayRequest,
      record: (record) => {
        owned.record(record, runner.position);
        this.#count(record);
      },
    });
    this.#runner = runner;
    if (store.isShared) log.info('event handler taken over', { handler: this.#uuid });
    const order = store.order(this.#uuid);
    runner.start(order && clock.nowMs() - order.atMs < reasonForMs ? order.reason : undefined);
    return runner;
  }

  /** Keeps the handler until this place ends, the runner ends, another node is to have it, or it is lost. */
  async #keep(owned: Ownership, runner: HandlerRunner): Promise<void> {
    const { store, share } = this.#dependencies;
    // The order in force while it still ran: it may be started again before orders are looked for the next time.
    let orderBeforeStopMs = store.order(this.#uuid)?.atMs ?? 0;
    const isOver = () => owned.lost.aborted || this.#isLeaving || this.#isEnding || (runner.isOver && !this.isStopped);
    while (!isOver()) {
      await this.#idle();
      try {
        const isForAnother = await owned.keep(this.#progress(runner), share());
        await store.refresh();
        const order = store.order(this.#uuid);
        const isStopped = runner.status.state === 'stopped';
        if (!isStopped) orderBeforeStopMs = order?.atMs ?? 0;
        // One that stopped stays stopped, and so here, until somebody wants otherwise.
        const isWanted = isStopped && order !== undefined && order.atMs > orderBeforeStopMs;
        this.#isLeaving = this.#isPaused || isWanted || isForAnother;
      } catch {
        // The store is away; the ownership says when it is lost.
      }
    }
  }

  /** Keeps the handler while what is under way ends. */
  async #holdUntil(ended: Promise<void>, owned: Ownership, runner: HandlerRunner): Promise<void> {
    const { clock, share } = this.#dependencies;
    const over = new AbortController();
    const ending = ended.finally(() => over.abort());
    while (!over.signal.aborted) {
      await clock.sleep(askEveryMs, over.signal).catch(() => {});
      if (!over.signal.aborted) await owned.keep(this.#progress(runner), share()).catch(() => {});
    }
    await ending;
  }

  #progress({ position, status }: HandlerRunner): HandlerProgress {
    return { position, deliveriesPerMinute: this.#dependencies.rate.perMinute, stopped: status.stopped };
  }

  /** Uploads may wait for it again, whichever node delivers for it otherwise. */
  #register(): void {
    const { store, events, abort, log } = this.#dependencies;
    const record = (made: DeliveryRecord) => {
      store.record(made);
      this.#count(made);
    };
    const settle = (eventUuid: string, isMade: boolean, position?: LogPosition) => store.settle(this.#uuid, eventUuid, isMade, position);
    this.#renewEnded();
    this.#unregister = events.registerBlockingHandler(
      this.#uuid,
      blockingHandler(() => this.#status, { abort, settle, record, log }),
    );
  }

  #renewEnded(): void {
    if (this.#isEnding || this.#status.state !== 'ended') return;
    try {
      this.renew();
    } catch (error) {
      this.#dependencies.log.error('uploads cannot wait for an event handler', { handler: this.#uuid, reason: error });
    }
  }

  #count(record: DeliveryRecord): void {
    this.#dependencies.rate.count();
    this.#dependencies.onDelivery?.(record);
  }
}
