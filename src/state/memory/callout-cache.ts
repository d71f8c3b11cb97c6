import type { AuthResult } from '../../auth/auth-method.ts';
import { type AcceptedCredentials, acceptedKey, newAcceptedKey } from '../../auth/callout-cache.ts';
import type { Clock } from '../../lib/clock.ts';
import { dropOldest } from '../../lib/expiring-map.ts';

const maxEntries = 10_000;

/**
 * Stores, for one process, which credentials the callout (the remote endpoint that checks logins) accepted. Only an HMAC of each credential
 * is kept.
 */
export class MemoryAcceptedCredentials implements AcceptedCredentials {
  readonly #key: Buffer;
  readonly #clock: Clock;
  readonly #lifetimeMs: number;
  readonly #accepted = new Map<string, { result: AuthResult; untilMs: number }>();

  constructor(clock: Clock, lifetimeMs: number, key = newAcceptedKey()) {
    this.#key = key;
    this.#clock = clock;
    this.#lifetimeMs = lifetimeMs;
  }

  keyFor(question: string): string {
    return acceptedKey(this.#key, question);
  }

  async find(key: string): Promise<AuthResult | undefined> {
    const kept = this.#accepted.get(key);
    if (kept && kept.untilMs > this.#clock.monotonicMs()) return kept.result;
    this.#accepted.delete(key);
    return undefined;
  }

  async keep(key: string, result: AuthResult): Promise<void> {
    this.#accepted.set(key, { result, untilMs: this.#clock.monotonicMs() + this.#lifetimeMs });
    dropOldest(this.#accepted, maxEntries);
  }
}
