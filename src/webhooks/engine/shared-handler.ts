import type { JournalledDispatcher } from '../../events/dispatcher.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import type { RedisEventLog } from '../../events/journal/redis/redis-event-log.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { RateMeter } from '../../lib/rate-meter.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { DeliveryStore, Lease } from '../records/delivery-store-redis.ts';
import type { HandlerOrders } from '../records/handler-orders-redis.ts';
import type { WebhookHandler } from '../webhook-handler.ts';
import { HandlerRunner } from './handler-runner.ts';
import { SharedUploadDeliveries } from './upload-deliveries-redis.ts';

/** How often a node asks for the lease of a handler that another has, and renews its own. */
const askEveryMs = 1000;

/** What is under way is given up so long before another node may have the lease. */
const marginMs = 1500;

/** A free handler that no node wants with whom the share would be kept is taken beyond it after so long, and kept for so long. */
const freeMs = 3000;
const keepBeyondShareMs = 60_000;

/** A handler that goes on so soon after somebody wanted it does so for that reason. */
const reasonForMs = 60_000;

export interface SharedHandlerSurroundings {
  journal: RedisEventLog;
  store: DeliveryStore;
  orders: HandlerOrders;
  rate: RateMeter;
  events: JournalledDispatcher;
  clock: Clock;
  log: Log;
  onDelivery: ((record: DeliveryRecord) => void) | undefined;
  /** Makes the handler anew: each time that it is owned it has connections of its own. */
  make: () => WebhookHandler;
  /** Where a handler begins that has no position yet. */
  begin: () => LogPosition;
  /** How many handlers there are, and how many of them this node has. */
  handlers: () => { all: number; owned: number };
}

/** One handler as one of several nodes sees it: delivers while it has the lease, and waits for it otherwise. */
export class SharedHandler {
  readonly handler: WebhookHandler;
  readonly #surroundings: SharedHandlerSurroundings;
  readonly #ending = new AbortController();
  readonly #givingUp = new AbortController();
  readonly #ended: Promise<void>;
  #runner: HandlerRunner | undefined;
  #isLeaving = false;
  /** Since when it has been free for a node that has fewer. */
  #freeSinceMs: number | undefined;
  #keepUntilMs = 0;

  /** @param handler for deliveries that uploads wait for, which any node makes */
  constructor(handler: WebhookHandler, surroundings: SharedHandlerSurroundings) {
    this.handler = handler;
    this.#surroundings = surroundings;
    this.#ended = this.#run();
  }

  /** The runner while this node has the lease. */
  get runner(): HandlerRunner | undefined {
    return this.#runner;
  }

  /** Whether this node has the lease, and is not about to hand it over. */
  get isOwner(): boolean {
    return this.#runner !== undefined && !this.#isLeaving;
  }

  /** Ends after the requests under way and gives the lease to whoever wants it. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#ended;
    this.handler.close();
  }

  /** Gives up what is under way. */
  async abandon(): Promise<void> {
    this.#givingUp.abort();
    await this.#runner?.abandon();
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#surroundings;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        await this.#surroundings.orders.refresh();
        const lease = this.#isPaused ? undefined : await this.#acquire();
        if (lease) await this.#own(lease);
      } catch (error) {
        log.debug('the lease of an event handler cannot be had', { handler: this.handler.uuid, reason: error });
      }
      await clock.sleep(askEveryMs, signal).catch(() => {});
    }
  }

  get #isPaused(): boolean {
    return this.#surroundings.orders.known(this.handler.uuid)?.state === 'paused';
  }

  async #acquire(): Promise<Lease | undefined> {
    const { store, clock, handlers } = this.#surroundings;
    const nowMs = clock.monotonicMs();
    const isBeyond = this.#freeSinceMs !== undefined && nowMs - this.#freeSinceMs >= freeMs;
    const { all, owned } = handlers();
    const answer = await store.acquire(this.handler.uuid, owned, isBeyond ? 0 : all);
    if (answer === 'beyond-share') this.#freeSinceMs ??= nowMs;
    else this.#freeSinceMs = undefined;
    if (typeof answer === 'string') return undefined;
    if (isBeyond) this.#keepUntilMs = nowMs + keepBeyondShareMs;
    return answer;
  }

  async #own(lease: Lease): Promise<void> {
    const { journal, store, events, clock, log, make, begin, onDelivery } = this.#surroundings;
    const { uuid } = this.handler;
    const over = new AbortController();
    const position = (await store.positions()).get(uuid) ?? begin();
    await store.save(lease, position);
    const handler = make();
    const runner: HandlerRunner = new HandlerRunner(handler, position, {
      journal,
      events,
      log,
      uploads: new SharedUploadDeliveries(store, uuid, handler.options, clock, over.signal),
      record: (record) => {
        store.record(record, lease, runner.position);
        onDelivery?.(record);
      },
      mayRequest: (isOver) => store.confirm(lease, isOver),
    });
    this.#runner = runner;
    log.info('event handler taken over', { handler: uuid });
    const order = this.#surroundings.orders.known(uuid);
    runner.start(position, order && clock.nowMs() - order.atMs < reasonForMs ? order.reason : undefined);
    const isOwn = await this.#keep(lease, runner);
    over.abort();
    if (isOwn) await runner.end(this.#givingUp.signal);
    else await runner.abandon();
    this.#runner = undefined;
    this.#isLeaving = false;
    if (!isOwn) {
      store.forget(lease);
      log.warn('event handler given up: its lease could not be kept', { handler: uuid });
      return;
    }
    await store.flush();
    await store.save(lease, runner.position);
    await store.release(lease);
  }

  /** Renews the lease until this node ends, the runner ends, another node is to have it, or it is lost. @returns whether it is still this node's */
  async #keep(lease: Lease, runner: HandlerRunner): Promise<boolean> {
    const { store, orders, rate, clock, handlers } = this.#surroundings;
    const { uuid } = this.handler;
    let isOwn = true;
    // The order that was in force while it still ran: it may be started again before this node looks for orders the next time.
    let orderBeforeStopMs = orders.known(uuid)?.atMs ?? 0;
    let deadline: Timer | undefined;
    const arm = () => {
      deadline?.cancel();
      const leftMs = lease.validUntilMs - marginMs - clock.monotonicMs();
      deadline = clock.after(Math.max(leftMs, 0), () => {
        // It may have been renewed meanwhile, before a request or when Redis came back.
        if (lease.validUntilMs - marginMs > clock.monotonicMs()) return arm();
        isOwn = false;
        void runner.abandon();
      });
    };
    arm();
    const isOver = () => lease.isLost || this.#isLeaving || this.#ending.signal.aborted || runner.status.state === 'ended';
    while (isOwn && !isOver()) {
      await clock.sleep(askEveryMs, this.#ending.signal).catch(() => {});
      try {
        const share = await store.renew(lease, handlers().all);
        if (share === undefined) isOwn = false;
        else if (isOwn) {
          arm();
          await store.flush();
          await store.save(lease, runner.position);
          await orders.refresh();
          const order = orders.known(uuid);
          const isStopped = runner.status.state === 'stopped';
          if (!isStopped) orderBeforeStopMs = order?.atMs ?? 0;
          await orders.tell(uuid, { deliveriesPerMinute: rate.perMinute, ...(isStopped && { stopped: runner.status.reason ?? '' }) });
          // One that stopped stays stopped, and so here, until somebody wants otherwise.
          const isWanted = isStopped && order !== undefined && order.atMs > orderBeforeStopMs;
          const mayLeave = runner.status.state === 'running' && clock.monotonicMs() >= this.#keepUntilMs;
          this.#isLeaving = this.#isPaused || isWanted || (mayLeave && handlers().owned > share);
        }
      } catch {
        // Redis is away; the deadline decides.
      }
    }
    deadline?.cancel();
    return isOwn && !lease.isLost;
  }
}
