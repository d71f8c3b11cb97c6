import type { BackendDelivery, BlockingHandler, JournalledDispatcher } from '../../events/dispatcher.ts';
import type { ServiceEvent } from '../../events/event.ts';
import type { EventLog } from '../../events/journal/event-log.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ReadWriteLock } from '../../lib/concurrency/read-write-lock.ts';
import type { Log } from '../../lib/log.ts';
import type { RateMeter } from '../../lib/rate-meter.ts';
import { DeliveryInterrupted } from '../delivery.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { WebhookHandler } from '../webhook-handler.ts';
import type { DeliveryStore, KeptProgress, NodeShare, Ownership } from './delivery-store.ts';
import { HandlerRunner } from './handler-runner.ts';
import { HandlerStatus } from './handler-status.ts';

/** Interval, in milliseconds, at which this process tries to own the handler, or renews its ownership. */
const askEveryMs = 1000;

/** If a handler starts within this time (in milliseconds) after an operator's request, it reports the reason of the request. */
const reasonForMs = 60_000;

export interface LocalHandlerDependencies {
  store: DeliveryStore;
  journal: EventLog;
  events: JournalledDispatcher;
  clock: Clock;
  log: Log;
  rate: RateMeter;
  abort: AbortSignal;
  onDelivery?: ((record: DeliveryRecord) => void) | undefined;
  /** Creates a new instance of the handler. @throws ServiceError `unavailable` if its CA file cannot be read */
  make: () => WebhookHandler;
  share: () => NodeShare;
  acquiring: ReadWriteLock;
}

/**
 * A handler in this process. The events of the journal are delivered only while the process owns the handler. The single events for which
 * uploads wait are delivered at any time.
 */
export class LocalHandler implements BlockingHandler {
  readonly options: EventHandlerOptions;
  readonly #uuid: string;
  readonly #dependencies: LocalHandlerDependencies;
  readonly #ended: Promise<void>;
  #status: HandlerStatus;
  #runner: HandlerRunner | undefined;
  #unregister: (() => void) | undefined;
  #wake = new AbortController();
  #isOwned = false;
  #isLeaving = false;
  #isEnding = false;
  #drains = false;
  /** Resolves after the first attempt to own the handler. */
  readonly #tried: Promise<void>;
  #hasTried: () => void = () => {};

  /**
   * @param handler closed when this object has ended
   * @param before resolves when the handler that this one replaces has ended
   */
  constructor(handler: WebhookHandler, before: Promise<void> | undefined, dependencies: LocalHandlerDependencies) {
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

  /** The runner; undefined while this process does not own the handler. */
  get runner(): HandlerRunner | undefined {
    return this.#runner;
  }

  /** Whether this process owns the handler and will keep it. */
  get isOwner(): boolean {
    return this.#isOwned && !this.#isLeaving;
  }

  /** Whether the handler stopped in this process, after too many failures or an internal error. */
  get isStopped(): boolean {
    return (this.#runner ?? this).status.state === 'stopped';
  }

  /** The status of the handler. It counts the deliveries of the runner and the deliveries for uploads. */
  get status(): HandlerStatus {
    return this.#status;
  }

  /** Replaces a paused or stopped handler by a new one that can run. @throws the errors of `make` */
  renew(): void {
    const handler = this.#dependencies.make();
    this.#status.handler.close();
    this.#status = new HandlerStatus(handler, this.#dependencies);
  }

  /** Follows an operator's request. Uploads do not wait for a paused handler. The handler delivers their events later. */
  followOrder(): void {
    if (this.#isEnding || this.#isPaused === (this.#unregister === undefined)) return;
    if (this.#isPaused) this.unregister();
    else this.#register();
    this.wake();
  }

  wake(): void {
    this.#wake.abort();
  }

  unregister(): void {
    this.#unregister?.();
    this.#unregister = undefined;
  }

  /**
   * Ends after the running requests, and releases the handler.
   *
   * @param drains whether the events that are now in the journal are delivered first; this ends at the first delivery that fails
   */
  async end({ drains = false } = {}): Promise<void> {
    if (drains) await this.#tried;
    this.#drains = drains;
    this.#isEnding = true;
    if (!drains) this.#status.end();
    this.wake();
    await this.#ended;
    this.#status.end();
    this.#status.handler.close();
  }

  /**
   * Delivers an event while an upload waits (docs/spec/delivery.md#upload-back-end). Sends nothing if the handler does not want the event,
   * or does not run.
   */
  async deliver(...[event, marks, position]: Parameters<BlockingHandler['deliver']>): Promise<BackendDelivery> {
    const status = this.#status;
    const { handler } = status;
    const { store, abort, log } = this.#dependencies;
    const settle = (isMade: boolean) => store.settle(this.#uuid, event.uuid, isMade, position);
    if (!handler.wants(event, marks.group) || status.state !== 'running') {
      settle(false);
      return { outcome: 'unavailable' };
    }
    try {
      const sent = { event, raw: Buffer.from(JSON.stringify(event)), ...(position && { position }) };
      const delivered = await handler.deliver([sent], { abort });
      const record = handler.record(delivered, { source: 'upload' });
      store.record(record);
      this.#count(record);
      settle(true);
      status.tell(delivered);
      status.count(delivered);
      const { outcome, headers, status: code } = delivered.result;
      return { outcome, headers, ...(code !== undefined && { status: code }) };
    } catch (error) {
      settle(false);
      if (!(error instanceof DeliveryInterrupted))
        log.error('a delivery for which an upload waits has failed', { handler: handler.uuid, reason: error });
      return { outcome: 'failed' };
    }
  }

  abandon({ uuid }: ServiceEvent): void {
    this.#dependencies.store.settle(this.#uuid, uuid, false);
  }

  get #isPaused(): boolean {
    return this.#dependencies.store.order(this.#uuid)?.state === 'paused';
  }

  async #run(before: Promise<void> | undefined): Promise<void> {
    const { store, log } = this.#dependencies;
    await before;
    while (!this.#isEnding) {
      try {
        await store.refresh();
        const owned = this.#isPaused ? undefined : await this.#acquire();
        if (owned) await this.#own(owned);
      } catch (error) {
        log.debug('an event handler cannot be owned', { handler: this.#uuid, reason: error });
      }
      this.#hasTried();
      await this.#idle();
    }
    this.#hasTried();
  }

  /** Acquires the handler. A node acquires its handlers one after the other, so that it never takes more than its share. */
  #acquire(): Promise<Ownership | undefined> {
    const { store, share, acquiring } = this.#dependencies;
    return acquiring.exclusive(async () => {
      const owned = await store.acquire(this.#status.handler, share());
      this.#isOwned = owned !== undefined;
      return owned;
    });
  }

  async #idle(): Promise<void> {
    if (!this.#isEnding) await this.#dependencies.clock.sleep(askEveryMs, this.#wake.signal).catch(() => {});
    this.#wake = new AbortController();
  }

  async #own(owned: Ownership): Promise<void> {
    const { log, abort } = this.#dependencies;
    const runner = this.#startRunner(owned);
    if (!runner) {
      this.#isOwned = false;
      return owned.release(owned);
    }
    const giveUp = () => void runner.abandon();
    owned.lost.addEventListener('abort', giveUp);
    this.#hasTried();
    await this.#keep(owned, runner);
    if (owned.lost.aborted) await runner.abandon();
    else await this.#holdUntil(this.#drains ? runner.drain(abort) : runner.end(abort), owned, runner);
    owned.lost.removeEventListener('abort', giveUp);
    this.#runner = undefined;
    this.#isOwned = false;
    this.#isLeaving = false;
    // After a pause, a new status counts failures from zero.
    if (this.#isPaused) this.#status.end();
    if (owned.lost.aborted)
      log.warn('another node may take the event handler over: its lease could not be renewed', { handler: this.#uuid });
    await owned.release(runner);
  }

  #startRunner(owned: Ownership): HandlerRunner | undefined {
    const { store, journal, clock, log } = this.#dependencies;
    try {
      if (this.#status.state !== 'running') this.renew();
    } catch (error) {
      log.error('an event handler cannot start; this is tried again', { handler: this.#uuid, reason: error });
      return undefined;
    }
    const runner: HandlerRunner = new HandlerRunner(this.#status, owned.position, {
      journal,
      clock,
      log,
      uploads: owned.uploads,
      mayRequest: owned.mayRequest,
      waiting: owned.waiting,
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

  /**
   * Keeps the handler until one of these happens: `end` is called, the runner ends, an operator pauses the handler or starts it again after
   * it stopped, this node owns too many handlers, or the ownership is lost.
   */
  async #keep(owned: Ownership, runner: HandlerRunner): Promise<void> {
    const { store, share } = this.#dependencies;
    // Time of the last request that an operator made before the handler stopped. Only a later request starts the handler again.
    let orderBeforeStopMs = store.order(this.#uuid)?.atMs ?? 0;
    const isOver = () => owned.lost.aborted || this.#isLeaving || this.#isEnding || (runner.isOver && !this.isStopped);
    while (!isOver()) {
      await this.#idle();
      try {
        const mayOwn = await owned.keep(this.#progress(runner), share().all);
        // There must be no `await` between the comparison and the assignment. Otherwise several handlers could be handed over although one
        // would be enough.
        if (mayOwn !== undefined && share().owned > mayOwn) this.#isLeaving = true;
        await store.refresh();
        const order = store.order(this.#uuid);
        const isStopped = runner.status.state === 'stopped';
        if (!isStopped) orderBeforeStopMs = order?.atMs ?? 0;
        // A stopped handler stays stopped on this node until an operator starts it.
        const isWanted = isStopped && order !== undefined && order.atMs > orderBeforeStopMs;
        if (this.#isPaused || isWanted) this.#isLeaving = true;
      } catch {
        // The store is unreachable. A lost ownership aborts `owned.lost`.
      }
    }
  }

  async #holdUntil(ended: Promise<void>, owned: Ownership, runner: HandlerRunner): Promise<void> {
    const { clock, share } = this.#dependencies;
    const over = new AbortController();
    const ending = ended.finally(() => over.abort());
    while (!over.signal.aborted) {
      await clock.sleep(askEveryMs, over.signal).catch(() => {});
      if (!over.signal.aborted) await owned.keep(this.#progress(runner), share().all).catch(() => {});
    }
    await ending;
  }

  #progress({ position, status, waiting }: HandlerRunner): KeptProgress {
    return { position, waiting, deliveriesPerMinute: this.#dependencies.rate.perMinute, stopped: status.stopped };
  }

  #register(): void {
    this.#renewEnded();
    this.#unregister = this.#dependencies.events.registerBlockingHandler(this.#uuid, this);
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
