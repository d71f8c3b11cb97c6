import { setMaxListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { JournalledDispatcher } from '../../events/dispatcher.ts';
import type { EventServer } from '../../events/event.ts';
import type { Backlog, EventLog } from '../../events/journal/event-log.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { ReadWriteLock } from '../../lib/concurrency/read-write-lock.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { RateMeter } from '../../lib/rate-meter.ts';
import type { Suspension, UrlSuspensions } from '../../lib/remote/url-health.ts';
import type { ForwardMeans } from '../forward/means.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import { WebhookHandler } from '../webhook-handler.ts';
import type { DeliveryStore, KnownHandler } from './delivery-store.ts';
import { LocalHandler } from './local-handler.ts';
import { pausedBy, stopReasons } from './stop-reasons.ts';

/** Interval, in milliseconds, at which the engine sends a heartbeat to the store and reads operators' requests from it. */
const beatEveryMs = 2000;

/** Age, in milliseconds, at which the stored states of the handlers are read again. */
const maxStateAgeMs = 10_000;

/** The current state of one handler, for statistics. */
export interface HandlerState {
  handler: string;
  /** `stopped` after too many failures or an internal error, or if no node delivers for the handler; `paused` by an operator. */
  state: 'running' | 'stopped' | 'paused';
  /** The reason why the handler does not run. */
  reason?: string | undefined;
  /** Number of deliveries in the last minute, including those for which uploads waited. Retries do not count. */
  deliveriesPerMinute: number;
  /** With several nodes: the node that delivers for the handler. */
  node?: string | undefined;
  /** With several nodes: whether this node has the handler's lease. */
  hasLease?: boolean;
  /** All events before this position were handled. */
  position: LogPosition;
  suspendedUrls: number;
  /** With several nodes: the backlog, and the age of this state in milliseconds, which grows while Redis is unreachable. */
  shared?: { waiting: Backlog; ageMs: number };
}

export interface EngineDependencies {
  journal: EventLog;
  events: JournalledDispatcher;
  server: EventServer;
  onDelivery?: ((record: DeliveryRecord) => void) | undefined;
  urlHealth: (handlerUuid: string) => UrlSuspensions;
  forward: ForwardMeans;
  clock: Clock;
  log: Log;
}

/** The suspended URLs and the request rate of a handler. Both are kept when the options of the handler change. */
interface Meters {
  health: UrlSuspensions;
  rate: RateMeter;
}

/** Delivers the journal to all event handlers. Each handler has its own position. With several nodes, each handler runs on one of them. */
export class DeliveryEngine {
  readonly #store: DeliveryStore;
  readonly #dependencies: EngineDependencies;
  readonly #handlers = new Map<string, LocalHandler>();
  readonly #meters = new Map<string, Meters>();
  /** Handlers that are ending. */
  readonly #ending = new Map<string, Promise<void>>();
  readonly #abort = new AbortController();
  readonly #acquiring = new ReadWriteLock();
  readonly #timer: Timer;
  /** The last known states of the handlers, and the monotonic time when they were read. */
  #known: { states: Map<string, HandlerState>; atMs: number };

  constructor(store: DeliveryStore, dependencies: EngineDependencies) {
    this.#store = store;
    this.#dependencies = dependencies;
    this.#known = { states: new Map(), atMs: dependencies.clock.monotonicMs() };
    setMaxListeners(0, this.#abort.signal);
    this.#timer = dependencies.clock.every(beatEveryMs, () => void this.#beat());
    void this.#beat();
  }

  /** Creates the handlers of a configuration without starting them. @throws ServiceError if a CA file cannot be read */
  prepare(options: Readonly<Record<string, EventHandlerOptions>>): Map<string, WebhookHandler> {
    const enabled = Object.entries(options).filter(([, handler]) => handler.enabled);
    return new Map(enabled.map(([uuid, handler]) => [uuid, this.#make(uuid, handler)]));
  }

  /**
   * Runs only the given handlers. A handler whose options are unchanged continues. A stopped handler starts again.
   *
   * @param known UUIDs of all handlers of the configuration, including disabled ones. The positions of all of them are kept
   * @returns a promise that resolves when the start positions of new handlers are stored, so that they get all later events
   */
  async apply(handlers: ReadonlyMap<string, WebhookHandler>, known: readonly string[]): Promise<void> {
    for (const [uuid, handler] of this.#handlers) {
      const next = handlers.get(uuid);
      if (next && !handler.isStopped && isDeepStrictEqual(handler.options, next.options)) continue;
      this.#retire(uuid, handler);
    }
    for (const uuid of this.#meters.keys()) if (!known.includes(uuid)) this.#meters.delete(uuid);
    const declared = this.#store.declare([...handlers.keys()], known);
    for (const [uuid, handler] of handlers) {
      if (this.#handlers.has(uuid)) handler.close();
      else this.#handlers.set(uuid, this.#run(uuid, handler));
    }
    await declared;
  }

  /** Returns the states of the handlers. While the store is unreachable, these are the last known ones. */
  async figures(): Promise<HandlerState[]> {
    try {
      return await this.#readStates();
    } catch (error) {
      if (!isServiceError(error, 'unavailable')) throw error;
      return this.#remembered(error.message);
    }
  }

  /**
   * Pauses a handler. Running requests finish, and no further requests are sent. Emits `componentStopped`. The pause survives restarts and
   * reloads. Other nodes follow it within a few seconds.
   *
   * @param by name of the operator
   * @throws ServiceError `not-found` for a handler that this configuration does not run; `unavailable`, `storage-full` or `internal` if the
   *   pause cannot be stored
   */
  async pause(uuid: string, by: string): Promise<void> {
    const handler = this.#find(uuid);
    await this.#store.refresh();
    if (this.#store.order(uuid)?.state === 'paused') return;
    await this.#store.give(uuid, { state: 'paused', reason: pausedBy(by) }, by);
    handler.status.paused(pausedBy(by));
    handler.followOrder();
  }

  /** Resumes a paused handler. Emits `componentStarted`. @throws the errors of `pause` */
  async resume(uuid: string, by: string): Promise<void> {
    const handler = this.#find(uuid);
    await this.#store.refresh();
    if (this.#store.order(uuid)?.state !== 'paused') return;
    handler.renew();
    await this.#store.give(uuid, { state: 'running', reason: `resumed by ${by}` }, by);
    handler.followOrder();
  }

  /** Starts a stopped handler again. Emits `componentStarted`. @throws the errors of `pause` */
  async start(uuid: string, by: string): Promise<void> {
    const handler = this.#find(uuid);
    const state = (await this.#readStates()).find((known) => known.handler === uuid)?.state;
    if (state !== 'stopped') return;
    handler.renew();
    await this.#store.give(uuid, { state: 'running', reason: `started again by ${by}` }, by);
    handler.wake();
  }

  /** Returns the suspended URLs of a handler. @throws the errors of `pause` */
  async suspendedUrls(uuid: string): Promise<Suspension[]> {
    const { options } = this.#find(uuid);
    return this.#findMeters(uuid).health.suspended(options.url);
  }

  /** Lifts the suspension of a URL. @returns whether the URL was suspended. @throws the errors of `pause` */
  async liftSuspension(uuid: string, url: string): Promise<boolean> {
    this.#find(uuid);
    return this.#findMeters(uuid).health.lift(url);
  }

  /**
   * Stops all handlers. If there are no other nodes, each handler first delivers the rest of the journal, until a delivery fails.
   *
   * @returns whether all running requests finished in time
   */
  async stop(timeoutMs: number): Promise<boolean> {
    let inTime = true;
    const timer = this.#dependencies.clock.after(timeoutMs, () => {
      inTime = false;
      this.#abort.abort();
    });
    await this.#store.leave();
    const handlers = [...this.#handlers.values()];
    await Promise.all([...handlers.map((handler) => handler.end({ drains: !this.#store.isShared })), ...this.#ending.values()]);
    timer.cancel();
    this.#timer.cancel();
    this.#abort.abort();
    for (const handler of handlers) handler.unregister();
    await this.#store.close();
    return inTime;
  }

  /** @throws ServiceError `unavailable` */
  async #readStates(): Promise<HandlerState[]> {
    const known = await this.#store.states([...this.#handlers.keys()]);
    const states = await Promise.all([...this.#handlers].map(([uuid, handler]) => this.#readState(uuid, handler, known.get(uuid))));
    this.#known = { states: new Map(states.map((state) => [state.handler, state])), atMs: this.#dependencies.clock.monotonicMs() };
    return states;
  }

  async #readState(uuid: string, { runner, isOwner }: LocalHandler, known: KnownHandler | undefined): Promise<HandlerState> {
    const { health, rate } = this.#findMeters(uuid);
    const { journal } = this.#dependencies;
    const order = this.#store.order(uuid);
    const isPaused = order?.state === 'paused';
    const stopped = runner ? runner.status.stopped : known?.stopped;
    const isRunning = known?.isOwned === true && stopped === undefined;
    const position = runner?.position ?? known?.position ?? journal.end;
    return {
      handler: uuid,
      state: isPaused ? 'paused' : isRunning ? 'running' : 'stopped',
      reason: isPaused ? order.reason : isRunning ? undefined : (stopped ?? stopReasons['no-node']),
      deliveriesPerMinute: runner ? rate.perMinute : (known?.deliveriesPerMinute ?? 0),
      position,
      suspendedUrls: health.countSuspended(),
      ...(this.#store.isShared && {
        node: known?.node,
        hasLease: isOwner,
        shared: { waiting: await journal.backlog(position), ageMs: 0 },
      }),
    };
  }

  #remembered(reason: string): HandlerState[] {
    const { journal, clock } = this.#dependencies;
    const ageMs = clock.monotonicMs() - this.#known.atMs;
    return [...this.#handlers].map(([handler, { runner, isOwner }]) => {
      const { health, rate } = this.#findMeters(handler);
      const { waiting = { events: 0, oldestMs: undefined } } = this.#known.states.get(handler)?.shared ?? {};
      const nothing = { handler, state: 'stopped' as const, reason, position: journal.end };
      // The states of handlers that run on this node are always current.
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
    const { clock, server, urlHealth, forward } = this.#dependencies;
    return new WebhookHandler(uuid, options, { clock, server, forward, health: this.#meters.get(uuid)?.health ?? urlHealth(uuid) });
  }

  #find(uuid: string): LocalHandler {
    const handler = this.#handlers.get(uuid);
    if (!handler) throw new ServiceError('not-found', `There is no enabled event handler "${uuid}".`);
    return handler;
  }

  #findMeters(uuid: string): Meters {
    return this.#meters.get(uuid) as Meters;
  }

  #run(uuid: string, handler: WebhookHandler): LocalHandler {
    const { clock } = this.#dependencies;
    const meters = this.#meters.get(uuid) ?? { health: handler.health, rate: new RateMeter(clock) };
    this.#meters.set(uuid, meters);
    return new LocalHandler(handler, this.#ending.get(uuid), {
      ...this.#dependencies,
      store: this.#store,
      rate: meters.rate,
      abort: this.#abort.signal,
      acquiring: this.#acquiring,
      make: () => this.#make(uuid, handler.options),
      share: () => ({ all: this.#handlers.size, owned: [...this.#handlers.values()].filter(({ isOwner }) => isOwner).length }),
    });
  }

  #retire(uuid: string, handler: LocalHandler): void {
    this.#handlers.delete(uuid);
    handler.unregister();
    const ending = handler.end().finally(() => {
      if (this.#ending.get(uuid) === ending) this.#ending.delete(uuid);
    });
    this.#ending.set(uuid, ending);
  }

  async #beat(): Promise<void> {
    try {
      await this.#store.refresh();
      for (const handler of this.#handlers.values()) handler.followOrder();
      await this.#store.beat();
      const isOld = this.#dependencies.clock.monotonicMs() - this.#known.atMs >= maxStateAgeMs;
      if (this.#store.isShared && (isOld || this.#known.states.size < this.#handlers.size)) await this.#readStates();
    } catch {
      // The connection to Redis logs this.
    }
  }
}
