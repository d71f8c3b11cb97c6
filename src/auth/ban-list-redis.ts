import { randomUUID } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { type RedisCaller, type RedisLink, redisScript } from '../lib/redis-link.ts';
import { type AddressBans, type SecurityPolicy, sourceOf } from './ban-list.ts';

/** KEYS failures, ban; ARGV limit, ban ms, window ms, mark of this failure. Returns whether the source is banned now. */
const noteFailure = redisScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
redis.call('ZADD', KEYS[1], now, ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
redis.call('DEL', KEYS[1])
return 1`);

/** Bans that this process repeats to a Redis that lost its data, at most. */
const mostRemembered = 10_000;

/** Failed attempts and bans of all nodes (decisions.md, "Brute force"). While Redis is away nobody can be let in. */
export class RedisBans implements AddressBans {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #policy: () => SecurityPolicy;
  /** Bans that were spoken or met here: a Redis that is killed within a second of one, or emptied, may have forgotten it. */
  readonly #known = new Map<string, number>();

  /** @param policy asked each time, so that a reload takes effect at once */
  constructor(link: RedisLink, clock: Clock, policy: () => SecurityPolicy) {
    this.#link = link;
    this.#clock = clock;
    this.#policy = policy;
    link.onRecover((caller) => this.#repeat(caller));
  }

  async isRefused(address: string): Promise<{ retryAfterS: number } | undefined> {
    if (this.#policy().ban_after_failures === 0 && this.#known.size === 0) return undefined;
    const source = sourceOf(address);
    const knownMs = (this.#known.get(source) ?? 0) - this.#clock.monotonicMs();
    if (knownMs > 0) return { retryAfterS: Math.ceil(knownMs / 1000) };
    this.#known.delete(source);
    const leftMs = Number(await this.#link.call(['PTTL', this.#banKey(source)]));
    if (leftMs <= 0) return undefined;
    this.#remember(source, leftMs);
    return { retryAfterS: Math.ceil(leftMs / 1000) };
  }

  async failed(address: string): Promise<void> {
    const { ban_after_failures, ban_seconds, ban_window_seconds } = this.#policy();
    if (ban_after_failures === 0) return;
    const source = sourceOf(address);
    const banMs = Math.ceil(ban_seconds * 1000);
    const isBanned = await this.#link.run(
      noteFailure,
      [this.#failuresKey(source), this.#banKey(source)],
      [ban_after_failures, banMs, Math.ceil(ban_window_seconds * 1000), randomUUID()],
    );
    if (isBanned === 1) this.#remember(source, banMs);
  }

  async succeeded(address: string): Promise<void> {
    if (this.#policy().ban_after_failures === 0) return;
    await this.#link.call(['DEL', this.#failuresKey(sourceOf(address))]);
  }

  async #repeat(caller: RedisCaller): Promise<void> {
    for (const [source, untilMs] of this.#known) {
      const leftMs = Math.ceil(untilMs - this.#clock.monotonicMs());
      if (leftMs > 0) await caller.call(['SET', this.#banKey(source), '1', 'PX', String(leftMs), 'NX']);
      else this.#known.delete(source);
    }
  }

  #remember(source: string, leftMs: number): void {
    this.#known.delete(source);
    this.#known.set(source, this.#clock.monotonicMs() + leftMs);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostRemembered && oldest !== undefined) this.#known.delete(oldest);
  }

  #banKey(source: string): string {
    return this.#link.key('ban', source);
  }

  #failuresKey(source: string): string {
    return this.#link.key('failures', source);
  }
}
