import { createHmac } from 'node:crypto';
import type { RedisLink } from '../lib/redis/redis-link.ts';
import type { AuthResult } from './auth-method.ts';
import type { AcceptedCredentials } from './callout-cache.ts';

/**
 * Accepted credentials of all nodes, under an HMAC with a key that Redis does not know (`server.state.secret`): whoever reads Redis
 * can try no passwords against it. While Redis is away nothing is remembered and the endpoint is asked.
 */
export class RedisAcceptedCredentials implements AcceptedCredentials {
  readonly #link: RedisLink;
  readonly #secret: string;
  readonly #lifetimeMs: number;
  readonly #method: string;

  constructor(link: RedisLink, secret: string, method: string, lifetimeMs: number) {
    this.#link = link;
    this.#secret = secret;
    this.#method = method;
    this.#lifetimeMs = lifetimeMs;
  }

  keyOf(question: string): string {
    return createHmac('sha256', this.#secret).update(`${this.#method} ${question}`).digest('base64url');
  }

  async find(key: string): Promise<AuthResult | undefined> {
    try {
      const text = (await this.#link.call(['GET', this.#link.key('accepted', key)])) as string | null;
      return text === null ? undefined : (JSON.parse(text) as AuthResult);
    } catch {
      return undefined;
    }
  }

  async keep(key: string, result: AuthResult): Promise<void> {
    try {
      await this.#link.call(['SET', this.#link.key('accepted', key), JSON.stringify(result), 'PX', String(Math.ceil(this.#lifetimeMs))]);
    } catch {
      // The next validation asks again.
    }
  }
}
