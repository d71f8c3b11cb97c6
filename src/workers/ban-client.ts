import { type AddressBans, mostAddresses, type SecurityPolicy, sourceOf } from '../auth/ban-list.ts';
import type { Clock } from '../lib/clock.ts';
import type { BanNote, ToPrimary } from './protocol.ts';

/** Bans in a worker: the primary process counts, and what it knows is known here, so that no request need ask. */
export class BanClient implements AddressBans {
  readonly #primary: ToPrimary;
  readonly #clock: Clock;
  readonly #policy: () => SecurityPolicy;
  /** Sources that failed of late, and until when they are banned (monotonic, ms). */
  readonly #bannedUntilMs = new Map<string, number>();

  /** @param policy asked each time, so that a reload takes effect at once */
  constructor(primary: ToPrimary, clock: Clock, policy: () => SecurityPolicy) {
    this.#primary = primary;
    this.#clock = clock;
    this.#policy = policy;
  }

  async isRefused(address: string): Promise<{ retryAfterS: number } | undefined> {
    if (this.#bannedUntilMs.size === 0) return undefined;
    const leftMs = (this.#bannedUntilMs.get(sourceOf(address)) ?? 0) - this.#clock.monotonicMs();
    return leftMs > 0 ? { retryAfterS: Math.ceil(leftMs / 1000) } : undefined;
  }

  async failed(address: string): Promise<void> {
    if (this.#policy().ban_after_failures > 0) await this.#primary.call('banFailed', address);
  }

  async succeeded(address: string): Promise<void> {
    if (this.#bannedUntilMs.has(sourceOf(address))) await this.#primary.call('banSucceeded', address);
  }

  /** Takes over what the primary process knows. */
  note(notes: readonly BanNote[]): void {
    for (const [source, bannedForMs] of notes) {
      this.#bannedUntilMs.delete(source);
      if (bannedForMs < 0) continue;
      this.#bannedUntilMs.set(source, this.#clock.monotonicMs() + bannedForMs);
      const [oldest] = this.#bannedUntilMs.keys();
      if (this.#bannedUntilMs.size > mostAddresses && oldest !== undefined) this.#bannedUntilMs.delete(oldest);
    }
  }
}
