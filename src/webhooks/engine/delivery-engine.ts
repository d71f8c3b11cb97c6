import { setMaxListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { JournalledDispatcher } from '../../events/dispatcher.ts';
import type { EventServer } from '../../events/event.ts';
import type { EventLog } from '../../events/journal/event-log.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { RateMeter } from '../../lib/rate-meter.ts';
import type { Suspension, UrlSuspensions } from '../../lib/remote/url-health.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { Deliveries, HandlerState } from '../records/deliveries.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import { WebhookHandler } from '../webhook-handler.ts';
import type { DeliveryStore, KnownHandler } from './delivery-store.ts';
import { pausedBy } from './handler-status.ts';
import { LocalHandler } from './local-handler.ts';

/** How often the store is told that this process lives, and asked for orders. */
const beatEveryMs = 2000;

/** How old what is known of the handlers becomes while nobody asks. */
const knowEveryMs = 10_000;

export interface EngineDependencies {
  journal: EventLog;
  events: JournalledDispatcher;
  server: EventServer;
  /** Told of every delivery, for figures. */
  onDelivery?: ((record: DeliveryRecord) => void) | undefined;
  urlHealth: (handlerUuid: string) => UrlSuspensions;
  clock: Clock;
  log: Log;
}

/** A handler's suspensions and rate, which stay when its options change. */
interface Meters {
  health: UrlSuspensions;
  rate: RateMeter;
}

/** Delivers the journal to all event handlers, each at its own pace, from where it stopped the last time; of several nodes each handler on one. */
export class DeliveryEngine implements Deliveries {
  readonly #store: DeliveryStore;
  readonly #dependencies: EngineDependencies;
  readonly #places = new Map<string, LocalHandler>();
  readonly #meters = new Map<string, Meters>();
  /** Places that end, by handler. */
  readonly #ending = new Map<string, Promise<void>>();
  readonly #abort = new AbortController();
  readonly #timer: Timer;
  /** The handlers as they were known last, and when that was (monotonic time). */
  #known: { states: Map<string, HandlerState>; atMs: number };

  constructor(store: DeliveryStore, dependencies: EngineDependencies) {
    this.#store = store;
    this.#dependencies = dependencies;
    this.#known = { states: new Map(), atMs: dependencies.clock.monotonicMs() };
    setMaxListeners(0, this.#abort.signal);
    this.#timer = dependencies.clock.every(beatEveryMs, () => void this.#beat());
    void this.#beat();
  }

  prepare(options: Readonly<Record<string, EventHandlerOptions>>): Map<string, WebhookHandler> {
    const enabled = Object.entries(options).filter(([, handler]) => handler.enabled);
    return new Map(enabled.map(([uuid, handler]) => [uuid, this.#make(uuid, handler)]));
  }

  async apply(handlers: ReadonlyMap<string, WebhookHandler>, known: readonly string[]): Promise<void> {
    for (const [uuid, place] of this.#places) {
      const next = handlers.get(uuid);
      if (next && !place.isStopped && isDeepStrictEqual(place.options, next.options)) continue;
      this.#retire(uuid, place);
    }
    for (const uuid of this.#meters.keys()) if (!known.includes(uuid)) this.#meters.delete(uuid);
    const placed = this.#store.declare([...handlers.keys()], known);
    for (const [uuid, handler] of handlers) {
      if (this.#places.has(uuid)) handler.close();
      else this.#places.set(uuid, this.#place(uuid, handler));
    }
    await placed;
  }

  async figures(): Promise<HandlerState[]> {
    try {
      return await this.#look();
    } catch (error) {
      if (!isServiceError(error, 'unavailable')) throw error;
      return this.#remembered(error.message);
    }
  }

  async pause(uuid: string, by: string): Promise<void> {
    const place = this.#running(uuid);
    await this.#store.refresh();
    if (this.#store.order(uuid)?.state === 'paused') return;
    await this.#store.give(uuid, { state: 'paused', reason: pausedBy(by) }, by);
    place.status.paused(pausedBy(by));
    place.followOrder();
  }

  async resume(uuid: string, by: string): Promise<void> {
    const place = this.#running(uuid);
    await this.#store.refresh();
    if (this.#store.order(uuid)?.state !== 'paused') return;
    place.renew();
    await this.#store.give(uuid, { state: 'running', reason: `resumed by ${by}` }, by);
    place.followOrder();
  }

  async start(uuid: string, by: string): Promise<void> {
    const place = this.#running(uuid);
    const state = (await this.#look()).find(({ handler }) => handler === uuid)?.state;
    if (state !== 'stopped') return;
    place.renew();
    await this.#store.give(uuid, { state: 'running', reason: `started again by ${by}` }, by);
    place.wake();
  }

  async suspendedUrls(uuid: string): Promise<Suspension[]> {
    const { options } = this.#running(uuid);
    return this.#metersOf(uuid).health.suspended(options.url);
  }

  async liftSuspension(uuid: string, url: string): Promise<boolean> {
    this.#running(uuid);
    return this.#metersOf(uuid).health.lift(url);
  }

  /** A process that is alone lets each handler deliver what is journalled by now unless its receiver fails; of nodes another goes on. */
  async stop(timeoutMs: number): Promise<boolean> {
    let inTime = true;
    const timer = this.#dependencies.clock.after(timeoutMs, () => {
      inTime = false;
      this.#abort.abort();
    });
    await this.#store.leave();
    const places = [...this.#places.values()];
    await Promise.all([...places.map((place) => place.end({ drains: !this.#store.isShared })), ...this.#ending.values()]);
    timer.cancel();
    this.#timer.cancel();
    this.#abort.abort();
    for (const place of places) place.unregister();
    await this.#store.close();
    return inTime;
  }

  /** @throws ServiceError `unavailable` */
  async #look(): Promise<HandlerState[]> {
    const known = await this.#store.states([...this.#places.keys()]);
    const states = await Promise.all([...this.#places].map(([handler, place]) => this.#stateOf(handler, place, known.get(handler))));
    this.#known = { states: new Map(states.map((state) => [state.handler, state])), atMs: this.#dependencies.clock.monotonicMs() };
    return states;
  }

  async #stateOf(handler: string, place: LocalHandler, known: KnownHandler | undefined): Promise<HandlerState> {
    const { runner } = place;
    const { health, rate } = this.#metersOf(handler);
    const { journal } = this.#dependencies;
    const order = this.#store.order(handler);
    const isPaused = order?.state === 'paused';
    const stopped = runner ? runner.status.stopped : known?.stopped;
    const isRunning = known?.isOwned === true && stopped === undefined;
    const position = runner?.position ?? known?.position ?? journal.end;
    const shared = async () => ({ waiting: await journal.backlog(position), ageMs: 0 });
    return {
      handler,
      state: isPaused ? 'paused' : isRunning ? 'running' : 'stopped',
      reason: isPaused ? order.reason : isRunning ? undefined : (stopped ?? 'no node delivers for it at present'),
      deliveriesPerMinute: runner ? rate.perMinute : (known?.deliveriesPerMinute ?? 0),
      position,
      suspendedUrls: health.countSuspended(),
      ...(this.#store.isShared && { node: known?.node, hasLease: place.isOwner, shared: await shared() }),
    };
  }

  #remembered(reason: string): HandlerState[] {
    const { journal, clock } = this.#dependencies;
    const ageMs = clock.monotonicMs() - this.#known.atMs;
    return [...this.#places].map(([handler, { runner, isOwner }]) => {
      const { health, rate } = this.#metersOf(handler);
      const { waiting = { events: 0, oldestMs: undefined } } = this.#known.states.get(handler)?.shared ?? {};
      const nothing = { handler, state: 'stopped' as const, reason, position: journal.end };
      // This node knows of its own handlers how they are now.
      const own = runner?.status.state === 'running' && { state: 'running' as const, reason: undefined };
      return {
        ...(this.#known.states.get(handler) ?? nothing),
        ...own,
        deliveriesPerMinute: rate.perMinute,
        hasLease: isOwner,
        suspendedUrls: health.countSuspended(),
        shared: { waiting, ageMs },
      };
    });
  }

  #make(uuid: string, options: EventHandlerOptions): WebhookHandler {
    const { clock, server, urlHealth } = this.#dependencies;
    return new WebhookHandler(uuid, options, { clock, server, health: this.#meters.get(uuid)?.health ?? urlHealth(uuid) });
  }

  #running(uuid: string): LocalHandler {
    const place = this.#places.get(uuid);
    if (!place) throw new ServiceError('not-found', `There is no enabled event handler "${uuid}".`);
    return place;
  }

  #metersOf(uuid: string): Meters {
    return this.#meters.get(uuid) as Meters;
  }

  #place(uuid: string, handler: WebhookHandler): LocalHandler {
    const { journal, events, clock, log, onDelivery } = this.#dependencies;
    const meters = this.#meters.get(uuid) ?? { health: handler.health, rate: new RateMeter(clock) };
    this.#meters.set(uuid, meters);
    return new LocalHandler(handler, this.#ending.get(uuid), {
      store: this.#store,
      journal,
      events,
      clock,
      log,
      rate: meters.rate,
      abort: this.#abort.signal,
      onDelivery,
      make: () => this.#make(uuid, handler.options),
      share: () => ({ all: this.#places.size, owned: [...this.#places.values()].filter(({ isOwner }) => isOwner).length }),
    });
  }

  #retire(uuid: string, place: LocalHandler): void {
    this.#places.delete(uuid);
    place.unregister();
    const ending = place.end().finally(() => {
      if (this.#ending.get(uuid) === ending) this.#ending.delete(uuid);
    });
    this.#ending.set(uuid, ending);
  }

  async #beat(): Promise<void> {
    try {
      await this.#store.refresh();
      for (const place of this.#places.values()) place.followOrder();
      await this.#store.beat();
      const isOld = this.#dependencies.clock.monotonicMs() - this.#known.atMs >= knowEveryMs;
      if (this.#store.isShared && (isOld || this.#known.states.size < this.#places.size)) await this.#look();
    } catch {
      // Redis is away; the link says so.
    }
  }
}
