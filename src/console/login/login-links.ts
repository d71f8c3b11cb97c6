import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { ExpiringMap } from '../../lib/expiring-map.ts';

/** How long a login link can be used, in milliseconds. */
export const linkLifetimeMs = 5 * 60_000;

/** Links that can be used at once; one more makes the oldest useless. */
const maxLinks = 16;

/** Links that log in without a password: each once, and for five minutes. The tokens themselves are kept nowhere. */
export class LoginLinks {
  readonly #clock: Clock;
  readonly #names = new ExpiringMap<string>(maxLinks);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A new token for an administrator (by name), the only time that it is known. */
  issue(name: string): string {
    const token = randomBytes(32).toString('base64url');
    this.#names.set(keyOf(token), name, this.#clock.monotonicMs() + linkLifetimeMs);
    return token;
  }

  /** The name that a token logs in; a second time, or too late, none. */
  redeem(token: string): string | undefined {
    return this.#names.take(keyOf(token), this.#clock.monotonicMs());
  }
}

function keyOf(token: string): string {
  return hash('sha256', token, 'base64');
}
