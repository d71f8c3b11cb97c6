import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import type { RedisCaller, RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';
import type { HandlerOrder } from '../../webhooks/engine/delivery-store.ts';

const handlerOrder: z.ZodType<HandlerOrder> = z.object({ state: z.enum(['paused', 'running']), reason: z.string(), atMs: z.number() });

/** What the node that delivers for a handler tells the others. */
const toldState = z.object({
  deliveriesPerMinute: z.number(),
  /** Why it stopped; undefined while it runs. */
  stopped: z.string().optional(),
  atMs: z.number(),
});
type ToldState = z.infer<typeof toldState>;

/** What was told so long ago says nothing any more. */
const toldForMs = 30_000;

/** KEYS orders; ARGV handler, time, order. What a Redis lost is repeated, what it knows better is not. */
const repeatScript = redisScript(`
local held = redis.call('HGET', KEYS[1], ARGV[1])
local isRead, order = pcall(cjson.decode, held or '')
if isRead and type(order) == 'table' and (tonumber(order.atMs) or 0) >= tonumber(ARGV[2]) then return end
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
    this.#known = await this.#all(this.#ordersKey(), handlerOrder);
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
    const all = await this.#all(this.#toldKey(), toldState);
    return new Map([...all].filter(([, { atMs }]) => nowMs - atMs < toldForMs));
  }

  /** What is told by handler; one value that cannot be read is nobody's. */
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

  #toldKey(): string {
    return this.#link.key('handler-states');
  }
}
