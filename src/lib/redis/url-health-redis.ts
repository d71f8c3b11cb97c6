import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { MemoryUrlHealth, suspensionMs, type UrlHealth } from '../remote/url-health.ts';
import type { RedisLink } from './redis-link.ts';

/** Suspensions of all nodes. They only spare time, so each node goes by what it knows itself while Redis is away. */
export class RedisUrlHealth implements UrlHealth {
  readonly #link: RedisLink;
  readonly #own: MemoryUrlHealth;
  readonly #scope: string;

  /** @param scope the method or handler that the URLs belong to */
  constructor(link: RedisLink, clock: Clock, scope: string) {
    this.#link = link;
    this.#own = new MemoryUrlHealth(clock);
    this.#scope = scope;
  }

  async available(urls: readonly string[]): Promise<string[]> {
    const own = await this.#own.available(urls);
    if (urls.length < 2 || own.length === 0) return own;
    try {
      const found = (await this.#link.call(['MGET', ...own.map((url) => this.#key(url))])) as (string | null)[];
      return own.filter((_, index) => found[index] === null);
    } catch {
      return own;
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

  // A URL may hold a secret; its hash does not.
  #key(url: string): string {
    return this.#link.key('suspended', this.#scope, createHash('sha256').update(url).digest('base64url'));
  }
}
