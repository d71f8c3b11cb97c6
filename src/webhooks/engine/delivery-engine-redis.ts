import { isDeepStrictEqual } from 'node:util';
import type { BlockingHandler, JournalledDispatcher } from '../../events/dispatcher.ts';
import type { EventServer } from '../../events/event.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { RedisEventLog } from '../../events/journal/redis/redis-event-log.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { RateMeter } from '../../lib/rate-meter.ts';
import type { Suspension, UrlSuspensions } from '../../lib/remote/url-health.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { Deliveries, HandlerState } from '../records/deliveries.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { DeliveryStore } from '../records/delivery-store-redis.ts';
import type { HandlerOrders } from '../records/handler-orders-redis.ts';
import { WebhookHandler } from '../webhook-handler.ts';
import { blockingHandler } from './blocking-handler.ts';
import { HandlerStatus } from './handler-status.ts';
import { pausedBy } from './pauses.ts';
import { SharedHandler } from './shared-handler.ts';

/** How often this node says that it lives, and looks how far the handlers are. */
const beatEveryMs = 2000;

/** How old what is known of the handlers becomes while nobody asks. */
const knowEveryMs = 10_000;

export interface SharedEngineSurroundings {
  journal: RedisEventLog;
  store: DeliveryStore;
  orders: HandlerOrders;
  events: JournalledDispatcher;
  server: EventServer;
  urlHealth: (handlerUuid: string) => UrlSuspensions;
  onDelivery?: ((record: DeliveryRecord) => void) | undefined;
  clock: Clock;
  log: Log;
}

interface Place {
  shared: SharedHandler;
  health: UrlSuspensions;
  rate: RateMeter;
  /** Lets uploads wait for its deliveries; undefined while it is paused. */
  unregister: (() => void) | undefined;
}

const streamBegin: LogPosition = { segment: 0, offset: 0 };

/** Delivers the journal that several nodes share: each handler on one of them at a time. */
export class SharedDeliveryEngine implements Deliveries {
  readonly #surroundings: SharedEngineSurroundings;
  readonly #places = new Map<string, Place>();
  readonly #retiring = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  readonly #timer: Timer;
  /** Handlers that had a position: one without it then lost it with a Redis that was emptied. */
  readonly #seen = new Set<string>();
  #positions = new Map<string, LogPosition>();
  #isFirst = true;
  /** The handlers as they were known last, and when that was (monotonic time). */
  #known: { states: Map<string, HandlerState>; atMs: number };

  constructor(surroundings: SharedEngineSurroundings) {
    this.#surroundings = surroundings;
    this.#known = { states: new Map(), atMs: surroundings.clock.monotonicMs() };
    this.#timer = surroundings.clock.every(beatEveryMs, () => void this.#beat());
    void this.#beat();
  }

  prepare(options: Readonly<Record<string, EventHandlerOptions>>): Map<string, WebhookHandler> {
    const enabled = Object.entries(options).filter(([, handler]) => handler.enabled);
    return new Map(enabled.map(([uuid, handler]) => [uuid, this.#make(uuid, handler, this.#places.get(uuid)?.health)]));
  }

  async apply(handlers: ReadonlyMap<string, WebhookHandler>): Promise<void> {
    for (const [uuid, place] of this.#places) {
      const next = handlers.get(uuid);
      const isStopped = place.shared.runner?.status.state === 'stopped';
      if (next && !isStopped && isDeepStrictEqual(place.shared.handler.options, next.options)) continue;
      this.#retire(uuid, place);
    }
    const { journal } = this.#surroundings;
    const { end } = journal;
    // While Redis has been away since the start, nothing is known of the journal yet.
    const begin = this.#isFirst ? () => journal.begin : () => (comparePositions(end, journal.begin) < 0 ? journal.begin : end);
    for (const [uuid, handler] of handlers) {
      if (this.#places.has(uuid)) handler.close();
      else this.#places.set(uuid, this.#place(uuid, handler, begin));
    }
    this.#isFirst = false;
  }

  neededFrom(): LogPosition | undefined {
    return this.#surroundings.journal.neededFrom();
  }

  async figures(): Promise<HandlerState[]> {
    try {
      return await this.#look();
    } catch (error) {
      if (!isServiceError(error, 'unavailable')) throw error;
      return this.#remembered(error.message);
    }
  }

  /** @throws ServiceError `unavailable` */
  async #look(): Promise<HandlerState[]> {
    const { store, orders, journal } = this.#surroundings;
    const uuids = [...this.#places.keys()];
    const [positions, owned, told] = await Promise.all([store.positions(), store.owned(uuids), orders.told(), orders.refresh()]);
    const looking = [...this.#places].map(async ([handler, { shared, health, rate }]): Promise<HandlerState> => {
      const position = positions.get(handler) ?? journal.end;
      const order = orders.known(handler);
      const isPaused = order?.state === 'paused';
      const stopped = shared.runner ? stopOf(shared.runner.status) : told.get(handler)?.stopped;
      const isRunning = owned.has(handler) && stopped === undefined;
      return {
        handler,
        state: isPaused ? 'paused' : isRunning ? 'running' : 'stopped',
        reason: isPaused ? order.reason : isRunning ? undefined : (stopped ?? 'no node delivers for it at present'),
        deliveriesPerMinute: shared.runner ? rate.perMinute : (told.get(handler)?.deliveriesPerMinute ?? 0),
        node: owned.get(handler),
        hasLease: shared.isOwner,
        position,
        suspendedUrls: health.countSuspended(),
        shared: { waiting: await journal.backlog(position), ageMs: 0 },
      };
    });
    const states = await Promise.all(looking);
    this.#known = { states: new Map(states.map((state) => [state.handler, state])), atMs: this.#surroundings.clock.monotonicMs() };
    return states;
  }

  #remembered(reason: string): HandlerState[] {
    const ageMs = this.#surroundings.clock.monotonicMs() - this.#known.atMs;
    return [...this.#places].map(([handler, { shared, health, rate }]) => {
      const { waiting = { events: 0, oldestMs: undefined } } = this.#known.states.get(handler)?.shared ?? {};
      const nothing = { handler, state: 'stopped' as const, reason, position: this.#surroundings.journal.end };
      // This node knows of its own handlers how they are now.
      const own = shared.runner?.status.state === 'running' && { state: 'running' as const, reason: undefined };
      return {
        ...(this.#known.states.get(handler) ?? nothing),
        ...own,
        deliveriesPerMinute: rate.perMinute,
        hasLease: shared.isOwner,
        suspendedUrls: health.countSuspended(),
        shared: { waiting, ageMs },
      };
    });
  }

  async pause(uuid: string, by: string): Promise<void> {
    const place = this.#running(uuid);
    const { orders, events, log } = this.#surroundings;
    await orders.refresh();
    if (orders.known(uuid)?.state === 'paused') return;
    await orders.give(uuid, 'paused', pausedBy(by));
    new HandlerStatus(place.shared.handler, { events, log }).paused(pausedBy(by));
    this.#followOrders();
  }

  async resume(uuid: string, by: string): Promise<void> {
    this.#running(uuid);
    const { orders } = this.#surroundings;
    await orders.refresh();
    if (orders.known(uuid)?.state !== 'paused') return;
    await orders.give(uuid, 'running', `resumed by ${by}`);
    this.#followOrders();
  }

  async start(uuid: string, by: string): Promise<void> {
    this.#running(uuid);
    const state = (await this.#look()).find(({ handler }) => handler === uuid)?.state;
    if (state === 'stopped') await this.#surroundings.orders.give(uuid, 'running', `started again by ${by}`);
  }

  async suspendedUrls(uuid: string): Promise<Suspension[]> {
    const { health, shared } = this.#running(uuid);
    return health.suspended(shared.handler.options.url);
  }

  async liftSuspension(uuid: string, url: string): Promise<boolean> {
    return this.#running(uuid).health.lift(url);
  }

  async stop(timeoutMs: number): Promise<boolean> {
    let inTime = true;
    const timer = this.#surroundings.clock.after(timeoutMs, () => {
      inTime = false;
      this.#abort.abort();
      for (const { shared } of this.#places.values()) void shared.abandon();
    });
    await this.#surroundings.store.leave().catch(() => {});
    // What waits is another node's from now on, or this one's after its next start.
    await Promise.all([...[...this.#places.values()].map(({ shared }) => shared.end()), ...this.#retiring]);
    timer.cancel();
    this.#timer.cancel();
    for (const { unregister } of this.#places.values()) unregister?.();
    await this.#surroundings.store.flush();
    return inTime;
  }

  #make(uuid: string, options: EventHandlerOptions, known?: UrlSuspensions): WebhookHandler {
    const { clock, server, urlHealth } = this.#surroundings;
    return new WebhookHandler(uuid, options, { clock, server, health: known ?? urlHealth(uuid) });
  }

  #place(uuid: string, handler: WebhookHandler, begin: () => LogPosition): Place {
    const { journal, store, orders, events, clock, log, onDelivery } = this.#surroundings;
    const rate = new RateMeter(clock);
    const shared = new SharedHandler(handler, {
      journal,
      store,
      orders,
      rate,
      events,
      clock,
      log,
      onDelivery: (record) => {
        rate.count();
        onDelivery?.(record);
      },
      make: () => this.#make(uuid, handler.options, handler.health),
      handlers: () => ({ all: this.#places.size, owned: [...this.#places.values()].filter((place) => place.shared.isOwner).length }),
      begin: () => (this.#seen.has(uuid) || journal.wasEmptied ? streamBegin : begin()),
    });
    return { shared, health: handler.health, rate, unregister: events.registerBlockingHandler(uuid, this.#blocking(handler)) };
  }

  #retire(uuid: string, { shared, unregister }: Place): void {
    this.#places.delete(uuid);
    unregister?.();
    const retiring = shared.end().finally(() => this.#retiring.delete(retiring));
    this.#retiring.add(retiring);
  }

  #running(uuid: string): Place {
    const place = this.#places.get(uuid);
    if (!place) throw new ServiceError('not-found', `There is no enabled event handler "${uuid}".`);
    return place;
  }

  /** Uploads wait for no handler that is paused; their events are delivered once it goes on. */
  #followOrders(): void {
    const { orders, events } = this.#surroundings;
    for (const [uuid, place] of this.#places) {
      const isPaused = orders.known(uuid)?.state === 'paused';
      if (isPaused) place.unregister?.();
      if (isPaused) place.unregister = undefined;
      else place.unregister ??= events.registerBlockingHandler(uuid, this.#blocking(place.shared.handler));
    }
  }

  /** Delivers events while uploads on this node wait, whichever node delivers for the handler otherwise. */
  #blocking(handler: WebhookHandler): BlockingHandler {
    const { store, events, log, onDelivery } = this.#surroundings;
    const status = new HandlerStatus(handler, { events, log });
    const settle = (eventUuid: string, isMade: boolean) => store.settle(handler.uuid, eventUuid, isMade);
    const record = (made: DeliveryRecord) => {
      store.record(made, undefined, undefined);
      onDelivery?.(made);
    };
    return blockingHandler(status, { abort: this.#abort.signal, settle, onInterrupted: (uuid) => settle(uuid, false), record, log });
  }

  async #beat(): Promise<void> {
    const { store, orders, journal } = this.#surroundings;
    try {
      await orders.refresh();
      this.#followOrders();
      await store.beat();
      await store.flush();
      this.#positions = await store.positions();
      for (const uuid of this.#positions.keys()) this.#seen.add(uuid);
      const waiting = [...this.#places.keys()].map((uuid) => this.#positions.get(uuid) ?? streamBegin);
      journal.noteDelivered(waiting.sort(comparePositions)[0] ?? journal.end);
      if (this.#surroundings.clock.monotonicMs() - this.#known.atMs >= knowEveryMs || this.#known.states.size < this.#places.size)
        await this.#look();
    } catch {
      // Redis is away; the link says so.
    }
  }
}

function stopOf({ state, reason }: HandlerStatus): string | undefined {
  return state === 'stopped' ? (reason ?? '') : undefined;
}
