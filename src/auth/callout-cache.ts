import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { AuthResult } from './auth-method.ts';
import type { Credentials } from './credentials.ts';

const mostEntries = 10_000;

/**
 * Remembers accepted credentials for a while (option `cache_seconds`), keyed by an HMAC under a key of this process: no
 * secret is kept in clear. Refusals and faults are never remembered. Identical validations at one time share one request.
 */
export class CalloutCache {
  readonly #key = randomBytes(32);
  readonly #clock: Clock;
  readonly #lifetimeMs: number;
  readonly #accepted = new Map<string, { result: AuthResult; untilMs: number }>();
  readonly #running = new Map<string, Promise<AuthResult>>();

  constructor(clock: Clock, lifetimeMs: number) {
    this.#clock = clock;
    this.#lifetimeMs = lifetimeMs;
  }

  /** The remembered answer, or that of `ask`. */
  async answer(credentials: Credentials, ask: () => Promise<AuthResult>): Promise<AuthResult> {
    if (this.#lifetimeMs === 0) return ask();
    const key = createHmac('sha256', this.#key)
      .update(JSON.stringify([credentials.type, credentials.username, credentials.content, credentials.creator.uuid]))
      .digest('base64');
    const kept = this.#accepted.get(key);
    if (kept && kept.untilMs > this.#clock.monotonicMs()) return kept.result;
    this.#accepted.delete(key);
    const running = this.#running.get(key) ?? this.#ask(key, ask);
    return running;
  }

  #ask(key: string, ask: () => Promise<AuthResult>): Promise<AuthResult> {
    const running = ask()
      .then((result) => {
        if (result.outcome === 'authenticated') this.#keep(key, result);
        return result;
      })
      .finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  #keep(key: string, result: AuthResult): void {
    this.#accepted.set(key, { result, untilMs: this.#clock.monotonicMs() + this.#lifetimeMs });
    const [oldest] = this.#accepted.keys();
    if (this.#accepted.size > mostEntries && oldest !== undefined) this.#accepted.delete(oldest);
  }
}
