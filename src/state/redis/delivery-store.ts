import * as z from 'zod';
import type { LoggedEvent } from '../../events/journal/event-log.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { RedisCaller, RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';
import type {
  AwaitedDeliveries,
  DeliveryStore,
  HandlerOrder,
  KeptProgress,
  KnownHandler,
  NodeShare,
  Ownership,
} from '../../webhooks/engine/delivery-store.ts';
import type { DeliveryRecord } from '../../webhooks/records/delivery-record.ts';
import { longestWaitsS, readWaiting, type WaitingRetry } from '../../webhooks/retries.ts';
import type { WebhookHandler } from '../../webhooks/webhook-handler.ts';
import type { DeliveryLeases, Lease } from './delivery-leases.ts';
import type { RedisEventLog } from './journal/redis-event-log.ts';

const handlerOrder: z.ZodType<HandlerOrder> = z.object({ state: z.enum(['paused', 'running']), reason: z.string(), atMs: z.number() });

/** The state of an event handler (a webhook). The handler's owner, which is the node that runs it, reports the state to other nodes. */
const toldState = z.object({
  deliveriesPerMinute: z.number(),
  /** The reason why the handler stopped; undefined while it runs. */
  stopped: z.string().optional(),
  atMs: z.number(),
});
type ToldState = z.infer<typeof toldState>;

/** Reported states that are older than this are ignored. */
const toldForMs = 30_000;

/**
 * KEYS: orders. ARGV: handler, time, order. An order is a request to pause or resume a handler. Writes an order again, unless Redis has the
 * same or a newer one.
 */
const repeatScript = redisScript(`
local held = redis.call('HGET', KEYS[1], ARGV[1])
local isRead, order = pcall(cjson.decode, held or '')
if isRead and type(order) == 'table' and (tonumber(order.atMs) or 0) >= tonumber(ARGV[2]) then return end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])`);

/** Lets the nodes exchange requests to pause or resume handlers, and the states of running handlers. */
export class HandlerOrders {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  /** The last known request to pause or resume each handler. It is written again if Redis has lost it. */
  #known = new Map<string, HandlerOrder>();
  /** For each handler, the JSON that Redis has for the handler's waiting retries. */
  readonly #toldWaiting = new Map<string, string>();

  constructor(link: RedisLink, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
    link.onRecover((caller) => this.#repeat(caller));
  }

  /** Returns the request to pause or resume a handler, as the last `refresh` read it. */
  known(handler: string): HandlerOrder | undefined {
    return this.#known.get(handler);
  }

  /** Reads the requests of all handlers again. @throws ServiceError `unavailable` */
  async refresh(): Promise<void> {
    this.#known = await this.#all(this.#ordersKey(), handlerOrder);
  }

  /** Stores a request to pause or resume a handler. @throws ServiceError `unavailable` */
  async give(handler: string, state: HandlerOrder['state'], reason: string): Promise<void> {
    await this.refresh();
    const atMs = Math.max(this.#clock.nowMs(), (this.#known.get(handler)?.atMs ?? 0) + 1);
    const order: HandlerOrder = { state, reason, atMs };
    await this.#link.call(['HSET', this.#ordersKey(), handler, JSON.stringify(order)]);
    this.#known.set(handler, order);
  }

  /** Reports the state of a handler that this node owns. @throws ServiceError `unavailable` */
  async tell(handler: string, state: Omit<ToldState, 'atMs'>): Promise<void> {
    const told: ToldState = { ...state, atMs: this.#clock.nowMs() };
    await this.#link.call(['HSET', this.#toldKey(), handler, JSON.stringify(told)]);
  }

  /** Stores the deliveries that wait for a retry, so that the next owner of the handler knows them. @throws ServiceError `unavailable` */
  async tellWaiting(handler: string, waiting: readonly WaitingRetry[]): Promise<void> {
    const text = waiting.length === 0 ? '' : JSON.stringify(waiting);
    if (text === (this.#toldWaiting.get(handler) ?? '')) return;
    await this.#link.call(text === '' ? ['HDEL', this.#waitingKey(), handler] : ['HSET', this.#waitingKey(), handler, text]);
    this.#toldWaiting.set(handler, text);
  }

  /** Reads which deliveries of a handler waited for a retry when its owner last reported. @throws ServiceError `unavailable` */
  async waiting(handler: string): Promise<WaitingRetry[]> {
    const key = this.#waitingKey();
    const text = (await this.#link.call(['HGET', key, handler])) as string | null;
    this.#toldWaiting.set(handler, text ?? '');
    return text === null ? [] : (this.#link.values.read(`${key} ${handler}`, text, readWaiting) ?? []);
  }

  /** Returns the recently reported states, by handler. @throws ServiceError `unavailable` */
  async told(): Promise<Map<string, ToldState>> {
    const nowMs = this.#clock.nowMs();
    const all = await this.#all(this.#toldKey(), toldState);
    return new Map([...all].filter(([, { atMs }]) => nowMs - atMs < toldForMs));
  }

  /** Reads the values of a hash, by handler. Unreadable values are left out. */
  async #all<T>(key: string, shape: z.ZodType<T>): Promise<Map<string, T>> {
    const fields = (await this.#link.call(['HGETALL', key])) as unknown[];
    const all = new Map<string, T>();
    for (let index = 0; index < fields.length; index += 2) {
      const handler = String(fields[index]);
      const value = this.#link.values.read(`${key} ${handler}`, fields[index + 1], (read) => shape.parse(read));
      if (value) all.set(handler, value);
    }
    return all;
  }

  async #repeat(caller: RedisCaller): Promise<void> {
    for (const [handler, order] of this.#known)
      await caller.run(repeatScript, [this.#ordersKey()], [handler, order.atMs, JSON.stringify(order)]);
  }

  #ordersKey(): string {
    return this.#link.key('handler-orders');
  }

  #waitingKey(): string {
    return this.#link.key('handler-waiting');
  }

  #toldKey(): string {
    return this.#link.key('handler-states');
  }
}

/** Interval in milliseconds at which the outcome of another node's delivery is checked. */
const checkEveryMs = 250;

/** Time in milliseconds that a delivery may take beyond the sum of its timeouts and pauses. */
const graceMs = 60_000;

/**
 * Any node can receive an upload that waits for a delivery. That node makes the delivery itself. Through the returned object, the owner of
 * the handler learns the outcome.
 *
 * @param isOver aborted to end the wait
 */
function awaitedDeliveries(
  { leases, clock }: RedisDeliveryParts,
  { uuid, options }: WebhookHandler,
  isOver: AbortSignal,
): AwaitedDeliveries {
  const { url, timeout, retry_count } = options;
  const longestMs = url.length * (timeout * (retry_count + 1) + longestWaitsS(options)) * 1000 + graceMs;
  /** @returns whether the delivery was made; undefined while the node that receives the upload may still make it */
  const findOutcome = async ({ event, node }: LoggedEvent) => {
    try {
      const settled = await leases.settled(uuid, event.uuid);
      if (settled !== undefined) return settled;
      const ageMs = clock.nowMs() - Number(event.timestamp.timestamp) * 1000;
      return ageMs > longestMs || node === undefined || !(await leases.isAlive(node)) ? false : undefined;
    } catch {
      return undefined;
    }
  };
  const wait = async (logged: LoggedEvent): Promise<boolean> => {
    for (;;) {
      try {
        await clock.sleep(checkEveryMs, isOver);
      } catch {
        // This node no longer owns the handler; the next owner checks the outcome itself.
        return new Promise(() => {});
      }
      const known = await findOutcome(logged);
      if (known !== undefined) return known;
    }
  };
  return {
    async awaitOutcome(logged) {
      const known = await findOutcome(logged);
      return known === undefined ? { willBeMade: wait(logged) } : { isMade: known };
    },
  };
}

/** Running deliveries are stopped this many milliseconds before the lease expires. As soon as it has expired, another node can take it. */
const marginMs = 1500;

/**
 * A node that already has its share of the handlers takes another handler only if that handler had no owner for `freeMs`. The node then
 * keeps the handler for at least `keepBeyondShareMs`.
 */
const freeMs = 3000;
const keepBeyondShareMs = 60_000;

const streamBegin: LogPosition = { segment: 0, offset: 0 };

export interface RedisDeliveryParts {
  journal: RedisEventLog;
  leases: DeliveryLeases;
  orders: HandlerOrders;
  clock: Clock;
}

/** The delivery state that nodes share. Leases ensure that each handler belongs to one node at a time. */
export class RedisDeliveryStore implements DeliveryStore {
  readonly isShared = true;
  readonly #parts: RedisDeliveryParts;
  /** Where each declared handler starts if it has no position yet. */
  #begins = new Map<string, () => LogPosition>();
  /** Handlers that had a position. If one of them has none now, Redis was emptied. */
  readonly #seen = new Set<string>();
  /** For each handler that this node leaves to a node with fewer handlers: the monotonic time at which this began. */
  readonly #freeSinceMs = new Map<string, number>();
  #isFirst = true;

  constructor(parts: RedisDeliveryParts) {
    this.#parts = parts;
  }

  async declare(handlers: readonly string[]): Promise<void> {
    const { journal } = this.#parts;
    const { end } = journal;
    // `journal.begin` is the end of the stream when this process first read the stream. If Redis was unreachable until now, this reading is
    // still to come, and `journal.begin` may then be after `end`.
    const begin = this.#isFirst ? () => journal.begin : () => (comparePositions(end, journal.begin) < 0 ? journal.begin : end);
    this.#begins = new Map(handlers.map((uuid) => [uuid, this.#begins.get(uuid) ?? begin]));
    this.#isFirst = false;
  }

  async acquire(handler: WebhookHandler, { all, owned }: NodeShare): Promise<Ownership | undefined> {
    const { leases, clock } = this.#parts;
    const { uuid } = handler;
    const nowMs = clock.monotonicMs();
    const freeSinceMs = this.#freeSinceMs.get(uuid);
    const isBeyond = freeSinceMs !== undefined && nowMs - freeSinceMs >= freeMs;
    const lease = await leases.acquire(uuid, owned, isBeyond ? 0 : all);
    if (lease === 'beyond-share') this.#freeSinceMs.set(uuid, freeSinceMs ?? nowMs);
    else this.#freeSinceMs.delete(uuid);
    if (typeof lease === 'string') return undefined;
    try {
      const position = (await leases.positions()).get(uuid) ?? this.#findBegin(uuid);
      await leases.save(lease, position);
      const waiting = await this.#parts.orders.waiting(uuid);
      return new LeasedHandler(this.#parts, handler, lease, { position, waiting }, isBeyond ? nowMs + keepBeyondShareMs : 0);
    } catch (error) {
      leases.forget(lease);
      throw error;
    }
  }

  order(handler: string): HandlerOrder | undefined {
    return this.#parts.orders.known(handler);
  }

  refresh(): Promise<void> {
    return this.#parts.orders.refresh();
  }

  give(handler: string, { state, reason }: Omit<HandlerOrder, 'atMs'>): Promise<void> {
    return this.#parts.orders.give(handler, state, reason);
  }

  async states(handlers: readonly string[]): Promise<Map<string, KnownHandler>> {
    const { leases, orders, journal } = this.#parts;
    const [positions, owned, told] = await Promise.all([leases.positions(), leases.owned(handlers), orders.told(), orders.refresh()]);
    const state = (uuid: string): KnownHandler => ({
      position: positions.get(uuid) ?? journal.end,
      deliveriesPerMinute: told.get(uuid)?.deliveriesPerMinute ?? 0,
      stopped: told.get(uuid)?.stopped,
      isOwned: owned.has(uuid),
      node: owned.get(uuid),
    });
    return new Map(handlers.map((uuid) => [uuid, state(uuid)]));
  }

  record(record: DeliveryRecord): void {
    this.#parts.leases.record(record, undefined, undefined);
  }

  settle(handler: string, eventUuid: string, isMade: boolean): void {
    this.#parts.leases.settle(handler, eventUuid, isMade);
  }

  async beat(): Promise<void> {
    const { leases, journal } = this.#parts;
    await leases.beat();
    await leases.flush();
    const positions = await leases.positions();
    for (const uuid of positions.keys()) this.#seen.add(uuid);
    const waiting = [...this.#begins.keys()].map((uuid) => positions.get(uuid) ?? streamBegin);
    journal.noteDelivered(waiting.sort(comparePositions)[0] ?? journal.end);
  }

  async leave(): Promise<void> {
    await this.#parts.leases.leave().catch(() => {});
  }

  close(): Promise<void> {
    return this.#parts.leases.flush();
  }

  #findBegin(uuid: string): LogPosition {
    const { journal } = this.#parts;
    if (this.#seen.has(uuid) || journal.wasEmptied) return streamBegin;
    return this.#begins.get(uuid)?.() ?? journal.end;
  }
}

/** A handler whose lease this node has. */
class LeasedHandler implements Ownership {
  readonly position: LogPosition;
  readonly waiting: readonly WaitingRetry[];
  readonly uploads: AwaitedDeliveries;
  readonly #store: RedisDeliveryParts;
  readonly #lease: Lease;
  readonly #isOver = new AbortController();
  readonly #keepUntilMs: number;
  readonly #lost = new AbortController();
  #deadline: Timer | undefined;

  /** @param keepUntilMs monotonic time before which the handler is not handed over to another node */
  constructor(
    store: RedisDeliveryParts,
    handler: WebhookHandler,
    lease: Lease,
    { position, waiting }: Pick<Ownership, 'position' | 'waiting'>,
    keepUntilMs: number,
  ) {
    this.position = position;
    this.waiting = waiting;
    this.uploads = awaitedDeliveries(store, handler, this.#isOver.signal);
    this.#store = store;
    this.#lease = lease;
    this.#keepUntilMs = keepUntilMs;
    this.#arm();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  readonly mayRequest = async (isOver: AbortSignal | undefined): Promise<boolean> => {
    const isConfirmed = await this.#store.leases.confirm(this.#lease, isOver);
    if (this.#lease.isLost) this.#lose();
    return isConfirmed;
  };

  record(record: DeliveryRecord, position: LogPosition): void {
    this.#store.leases.record(record, this.#lease, position);
  }

  async keep({ position, deliveriesPerMinute, stopped, waiting }: KeptProgress, all: number): Promise<number | undefined> {
    const { leases, orders, clock } = this.#store;
    const share = await leases.renew(this.#lease, all);
    if (share === undefined) this.#lose();
    if (share === undefined || this.#lost.signal.aborted) return undefined;
    this.#arm();
    await leases.flush();
    await leases.save(this.#lease, position);
    await orders.tellWaiting(this.#lease.handler, waiting);
    await orders.tell(this.#lease.handler, { deliveriesPerMinute, ...(stopped !== undefined && { stopped }) });
    return stopped === undefined && clock.monotonicMs() >= this.#keepUntilMs ? share : undefined;
  }

  async release({ position, waiting }: Pick<KeptProgress, 'position' | 'waiting'>): Promise<void> {
    const { leases, orders } = this.#store;
    this.#deadline?.cancel();
    this.#isOver.abort();
    if (this.#lost.signal.aborted) return leases.forget(this.#lease);
    await leases.flush();
    await leases.save(this.#lease, position);
    await orders.tellWaiting(this.#lease.handler, waiting);
    await leases.release(this.#lease);
  }

  #arm(): void {
    const { clock } = this.#store;
    const leftMs = () => this.#lease.validUntilMs - marginMs - clock.monotonicMs();
    this.#deadline?.cancel();
    this.#deadline = clock.after(Math.max(leftMs(), 0), () => {
      // The lease may have been renewed meanwhile, by a request or after a reconnect to Redis.
      if (leftMs() > 0) this.#arm();
      else this.#lose();
    });
  }

  #lose(): void {
    this.#deadline?.cancel();
    this.#lost.abort();
  }
}
