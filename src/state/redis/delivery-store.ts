import type { LoggedEvent } from '../../events/journal/event-log.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type {
  AwaitedDeliveries,
  AwaitedOutcome,
  DeliveryStore,
  HandlerOrder,
  HandlerProgress,
  KnownHandler,
  NodeShare,
  Ownership,
} from '../../webhooks/engine/delivery-store.ts';
import type { EventHandlerOptions } from '../../webhooks/options.ts';
import type { DeliveryRecord } from '../../webhooks/records/delivery-record.ts';
import type { WebhookHandler } from '../../webhooks/webhook-handler.ts';
import type { DeliveryLeases, Lease } from './delivery-leases.ts';
import type { HandlerOrders } from './handler-orders.ts';
import type { RedisEventLog } from './journal/redis-event-log.ts';

/** How often the outcome of another node's delivery is looked for. */
const lookEveryMs = 250;

/** What a delivery may take beyond its time-outs and pauses. */
const graceMs = 60_000;

/** Deliveries that uploads on any node wait for, as the node that delivers for the handler sees them. */
class SharedUploadDeliveries implements AwaitedDeliveries {
  readonly #leases: DeliveryLeases;
  readonly #handler: string;
  readonly #longestMs: number;
  readonly #clock: Clock;
  readonly #isOver: AbortSignal;

  /** @param isOver ends the waiting */
  constructor(leases: DeliveryLeases, handler: string, options: EventHandlerOptions, clock: Clock, isOver: AbortSignal) {
    this.#leases = leases;
    this.#handler = handler;
    this.#clock = clock;
    this.#isOver = isOver;
    const { url, timeout, retry_count, retry_increase } = options;
    const pausesS = (retry_increase * retry_count * (retry_count + 1)) / 2;
    this.#longestMs = url.length * (timeout * (retry_count + 1) + pausesS) * 1000 + graceMs;
  }

  async awaitOutcome(logged: LoggedEvent): Promise<AwaitedOutcome> {
    const known = await this.#look(logged);
    return known === undefined ? { willBeMade: this.#wait(logged) } : { isMade: known };
  }

  async #wait(logged: LoggedEvent): Promise<boolean> {
    for (;;) {
      try {
        await this.#clock.sleep(lookEveryMs, this.#isOver);
      } catch {
        // Nobody delivers here any more; the next owner finds out anew.
        return new Promise(() => {});
      }
      const known = await this.#look(logged);
      if (known !== undefined) return known;
    }
  }

  /** @returns undefined while a node that lives may still be at it */
  async #look({ event, node }: LoggedEvent): Promise<boolean | undefined> {
    try {
      const settled = await this.#leases.settled(this.#handler, event.uuid);
      if (settled !== undefined) return settled;
      const ageMs = this.#clock.nowMs() - Number(event.timestamp.timestamp) * 1000;
      return ageMs > this.#longestMs || node === undefined || !(await this.#leases.isAlive(node)) ? false : undefined;
    } catch {
      return undefined;
    }
  }
}

/** What is under way is given up so long before another node may have the lease. */
const marginMs = 1500;

/** A free handler that no node wants with whom the share would be kept is taken beyond it after so long, and kept for so long. */
const freeMs = 3000;
const keepBeyondShareMs = 60_000;

const streamBegin: LogPosition = { segment: 0, offset: 0 };

export interface RedisDeliveryParts {
  journal: RedisEventLog;
  leases: DeliveryLeases;
  orders: HandlerOrders;
  clock: Clock;
}

/** What the delivery engines of several nodes share: each handler is one node's at a time, by a lease. */
export class RedisDeliveryStore implements DeliveryStore {
  readonly isShared = true;
  readonly #parts: RedisDeliveryParts;
  /** Where placed handlers begin that have no position. */
  #begins = new Map<string, () => LogPosition>();
  /** Handlers that had a position: one without it then lost it with a Redis that was emptied. */
  readonly #seen = new Set<string>();
  /** Since when a handler has been free for a node that has fewer. */
  readonly #freeSinceMs = new Map<string, number>();
  #isFirst = true;

  constructor(parts: RedisDeliveryParts) {
    this.#parts = parts;
  }

  async declare(handlers: readonly string[]): Promise<void> {
    const { journal } = this.#parts;
    const { end } = journal;
    // While Redis has been away since the start, nothing is known of the journal yet.
    const begin = this.#isFirst ? () => journal.begin : () => (comparePositions(end, journal.begin) < 0 ? journal.begin : end);
    this.#begins = new Map(handlers.map((uuid) => [uuid, this.#begins.get(uuid) ?? begin]));
    this.#isFirst = false;
  }

  async acquire({ uuid, options }: WebhookHandler, { all, owned }: NodeShare): Promise<Ownership | undefined> {
    const { leases, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    const freeSinceMs = this.#freeSinceMs.get(uuid);
    const isBeyond = freeSinceMs !== undefined && nowMs - freeSinceMs >= freeMs;
    const lease = await leases.acquire(uuid, owned, isBeyond ? 0 : all);
    if (lease === 'beyond-share') this.#freeSinceMs.set(uuid, freeSinceMs ?? nowMs);
    else this.#freeSinceMs.delete(uuid);
    if (typeof lease === 'string') return undefined;
    try {
      const position = (await leases.positions()).get(uuid) ?? this.#beginOf(uuid);
      await leases.save(lease, position);
      const isOver = new AbortController();
      const uploads = new SharedUploadDeliveries(leases, uuid, options, clock, isOver.signal);
      return new LeasedHandler(this.#parts, lease, { position, uploads, isOver, keepUntilMs: isBeyond ? nowMs + keepBeyondShareMs : 0 });
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

  #beginOf(uuid: string): LogPosition {
    const { journal } = this.#parts;
    if (this.#seen.has(uuid) || journal.wasEmptied) return streamBegin;
    return this.#begins.get(uuid)?.() ?? journal.end;
  }
}

interface LeasedParts {
  position: LogPosition;
  uploads: SharedUploadDeliveries;
  /** Ends the waiting of `uploads`. */
  isOver: AbortController;
  /** Monotonic time until which it is handed over to nobody. */
  keepUntilMs: number;
}

/** A handler that this node has the lease of. */
class LeasedHandler implements Ownership {
  readonly position: LogPosition;
  readonly uploads: SharedUploadDeliveries;
  readonly #store: RedisDeliveryParts;
  readonly #lease: Lease;
  readonly #isOver: AbortController;
  readonly #keepUntilMs: number;
  readonly #lost = new AbortController();
  #deadline: Timer | undefined;

  constructor(store: RedisDeliveryParts, lease: Lease, { position, uploads, isOver, keepUntilMs }: LeasedParts) {
    this.position = position;
    this.uploads = uploads;
    this.#store = store;
    this.#lease = lease;
    this.#isOver = isOver;
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

  async keep({ position, deliveriesPerMinute, stopped }: HandlerProgress, { all, owned }: NodeShare): Promise<boolean> {
    const { leases, orders, clock } = this.#store;
    const share = await leases.renew(this.#lease, all);
    if (share === undefined) this.#lose();
    if (share === undefined || this.#lost.signal.aborted) return false;
    this.#arm();
    await leases.flush();
    await leases.save(this.#lease, position);
    await orders.tell(this.#lease.handler, { deliveriesPerMinute, ...(stopped !== undefined && { stopped }) });
    return stopped === undefined && clock.monotonicMs() >= this.#keepUntilMs && owned > share;
  }

  async release(position: LogPosition): Promise<void> {
    const { leases } = this.#store;
    this.#deadline?.cancel();
    this.#isOver.abort();
    if (this.#lost.signal.aborted) return leases.forget(this.#lease);
    await leases.flush();
    await leases.save(this.#lease, position);
    await leases.release(this.#lease);
  }

  #arm(): void {
    const { clock } = this.#store;
    const leftMs = () => this.#lease.validUntilMs - marginMs - clock.monotonicMs();
    this.#deadline?.cancel();
    this.#deadline = clock.after(Math.max(leftMs(), 0), () => {
      // It may have been renewed meanwhile, before a request or when Redis came back.
      if (leftMs() > 0) this.#arm();
      else this.#lose();
    });
  }

  #lose(): void {
    this.#deadline?.cancel();
    this.#lost.abort();
  }
}
