import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { MemoryUrlHealth, type Suspension, suspensionMs, type UrlSuspensions } from '../../lib/remote/url-health.ts';

/** Suspensions of all nodes. They only spare time, so each node goes by what it knows itself while Redis is away. */
export class RedisUrlHealth implements UrlSuspensions {
  readonly #link: RedisLink;
  readonly #own: MemoryUrlHealth;
  readonly #clock: Clock;
  readonly #scope: string;

  /** @param scope the method or handler that the URLs belong to */
  constructor(link: RedisLink, clock: Clock, scope: string) {
    this.#link = link;
    this.#own = new MemoryUrlHealth(clock);
    this.#clock = clock;
    this.#scope = scope;
  }

  async available(urls: readonly string[]): Promise<string[]> {
    if (urls.length < 2) return this.#own.available(urls);
    try {
      const found = (await this.#link.call(['MGET', ...urls.map((url) => this.#key(url))])) as (string | null)[];
      const available = urls.filter((_, index) => found[index] !== '1');
      // Another node may have lifted it.
      for (const url of available) await this.#own.lift(url);
      return available;
    } catch {
      return this.#own.available(urls);
    }
  }

  async suspend(url: string): Promise<void> {
    await this.#own.suspend(url);
    try {
      await this.#link.call(['SET', this.#key(url), '1', 'PX', String(suspensionMs)]);
    } catch {
      // The other nodes find out for themselves.
    }
  }

  countSuspended(): number {
    return this.#own.countSuspended();
  }

  async suspended(urls: readonly string[]): Promise<Suspension[]> {
    const leftMs = (await Promise.all(urls.map((url) => this.#link.call(['PTTL', this.#key(url)])))) as number[];
    const nowMs = this.#clock.nowMs();
    return urls.map((url, index) => ({ url, untilMs: nowMs + (leftMs[index] ?? 0) })).filter(({ untilMs }) => untilMs > nowMs);
  }

  async lift(url: string): Promise<boolean> {
    await this.#own.lift(url);
    return (await this.#link.call(['DEL', this.#key(url)])) === 1;
  }

  // A URL may hold a secret; its hash does not.
  #key(url: string): string {
    return this.#link.key('suspended', this.#scope, createHash('sha256').update(url).digest('base64url'));
  }
}
