import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { MemoryUrlHealth, type Suspension, suspensionMs } from '../../lib/remote/url-health.ts';

/**
 * Shares the suspensions of URLs between all nodes. While Redis is unreachable, each node knows only its own suspensions. That is enough,
 * because suspensions only save time.
 */
export class RedisUrlHealth extends MemoryUrlHealth {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #scope: string;

  /** @param scope UUID of the authentication method, event handler or inspection to which the URLs belong */
  constructor(link: RedisLink, clock: Clock, scope: string) {
    super(clock);
    this.#link = link;
    this.#clock = clock;
    this.#scope = scope;
  }

  override async available(urls: readonly string[]): Promise<string[]> {
    if (urls.length < 2) return super.available(urls);
    try {
      const found = (await this.#link.call(['MGET', ...urls.map((url) => this.#key(url))])) as (string | null)[];
      const available = urls.filter((_, index) => found[index] !== '1');
      // Another node may have lifted the suspension.
      for (const url of available) await super.lift(url);
      return available;
    } catch {
      return super.available(urls);
    }
  }

  override async suspend(url: string): Promise<void> {
    await super.suspend(url);
    try {
      await this.#link.call(['SET', this.#key(url), '1', 'PX', String(suspensionMs)]);
    } catch {
      // Other nodes will notice the failure themselves.
    }
  }

  override async suspended(urls: readonly string[]): Promise<Suspension[]> {
    const leftMs = (await Promise.all(urls.map((url) => this.#link.call(['PTTL', this.#key(url)])))) as number[];
    const nowMs = this.#clock.nowMs();
    return urls.map((url, index) => ({ url, untilMs: nowMs + (leftMs[index] ?? 0) })).filter(({ untilMs }) => untilMs > nowMs);
  }

  override async lift(url: string): Promise<boolean> {
    await super.lift(url);
    return (await this.#link.call(['DEL', this.#key(url)])) === 1;
  }

  // The key contains a hash, because the URL may contain a secret.
  #key(url: string): string {
    return this.#link.key('suspended', this.#scope, createHash('sha256').update(url).digest('base64url'));
  }
}
