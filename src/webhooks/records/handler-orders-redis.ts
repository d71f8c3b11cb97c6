import type { Clock } from '../../lib/clock.ts';
import { parseJson } from '../../lib/json.ts';
import type { RedisCaller, RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';

/** What somebody wants of a handler, whichever node delivers for it. */
export interface HandlerOrder {
  state: 'paused' | 'running';
  /** For events and people. */
  reason: string;
  /** When it was given, Unix time in milliseconds; larger than of the order before. */
  atMs: number;
}

/** What the node that delivers for a handler tells the others. */
export interface ToldState {
  deliveriesPerMinute: number;
  /** Why it stopped; undefined while it runs. */
  stopped?: string | undefined;
  atMs: number;
}

/** What was told so long ago says nothing any more. */
const toldForMs = 30_000;

/** KEYS orders; ARGV handler, time, order. What a Redis lost is repeated, what it knows better is not. */
const repeatScript = redisScript(`
local held = redis.call('HGET', KEYS[1], ARGV[1])
if held and cjson.decode(held).atMs >= tonumber(ARGV[2]) then return end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])`);

/** What nodes tell each other of handlers: who is to rest, and how those that deliver get on. */
export class HandlerOrders {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  /** As this node knows them; repeated to a Redis that lost them. */
  #known = new Map<string, HandlerOrder>();

  constructor(link: RedisLink, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
    link.onRecover((caller) => this.#repeat(caller));
  }

  /** The order for a handler as it was when it was last asked for. */
  known(handler: string): HandlerOrder | undefined {
    return this.#known.get(handler);
  }

  /** Asks for all orders anew. @throws ServiceError `unavailable` */
  async refresh(): Promise<void> {
    this.#known = parsed(await this.#link.call(['HGETALL', this.#ordersKey()]));
  }

  /** @throws ServiceError `unavailable` */
  async give(handler: string, state: HandlerOrder['state'], reason: string): Promise<void> {
    await this.refresh();
    const atMs = Math.max(this.#clock.nowMs(), (this.#known.get(handler)?.atMs ?? 0) + 1);
    const order: HandlerOrder = { state, reason, atMs };
    await this.#link.call(['HSET', this.#ordersKey(), handler, JSON.stringify(order)]);
    this.#known.set(handler, order);
  }

  /** Tells the other nodes how a handler of this one gets on. @throws ServiceError `unavailable` */
  async tell(handler: string, state: Omit<ToldState, 'atMs'>): Promise<void> {
    const told: ToldState = { ...state, atMs: this.#clock.nowMs() };
    await this.#link.call(['HSET', this.#toldKey(), handler, JSON.stringify(told)]);
  }

  /** What was told of late. @throws ServiceError `unavailable` */
  async told(): Promise<Map<string, ToldState>> {
    const nowMs = this.#clock.nowMs();
    const all = parsed<ToldState>(await this.#link.call(['HGETALL', this.#toldKey()]));
    return new Map([...all].filter(([, { atMs }]) => nowMs - atMs < toldForMs));
  }

  async #repeat(caller: RedisCaller): Promise<void> {
    for (const [handler, order] of this.#known)
      await caller.run(repeatScript, [this.#ordersKey()], [handler, order.atMs, JSON.stringify(order)]);
  }

  #ordersKey(): string {
    return this.#link.key('handler-orders');
  }

  #toldKey(): string {
    return this.#link.key('handler-states');
  }
}

function parsed<T = HandlerOrder>(reply: unknown): Map<string, T> {
  // A list of names and values, or with RESP 3 a map.
  const pairs = Array.isArray(reply)
    ? Array.from({ length: reply.length / 2 }, (_, index) => [String(reply[2 * index]), String(reply[2 * index + 1])] as const)
    : Object.entries(reply as Record<string, string>);
  return new Map(pairs.map(([name, value]) => [name, parseJson(value) as T]));
}
