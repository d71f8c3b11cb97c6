import {
  type AddressBans,
  type Admission,
  type AttemptOutcome,
  attemptKey,
  type ListedBan,
  type LoginAttempt,
  mostAddresses,
  refusalFor,
  type SecurityPolicy,
} from '../../auth/ban-list.ts';
import { acceptedKeyOf } from '../../auth/callout-cache.ts';
import type { Clock } from '../../lib/clock.ts';
import { dropOldest, ExpiringMap } from '../../lib/expiring-map.ts';
import type { BanNote, ToPrimary } from './protocol.ts';

/**
 * Bans in a worker: the primary process counts. What it knows of bans is known here, and so are credentials that were accepted of
 * late: most requests need not ask.
 */
export class BanClient implements AddressBans {
  readonly #primary: ToPrimary;
  readonly #clock: Clock;
  readonly #policy: () => SecurityPolicy;
  readonly #key: Buffer;
  /** Sources that failed of late, and until when they are banned (monotonic, ms). */
  readonly #bannedUntilMs = new Map<string, number>();
  /** Credentials that the primary process knows to be accepted, for longer than they stand here. */
  readonly #accepted = new ExpiringMap<true>(mostAddresses);

  /**
   * @param policy asked each time, so that a reload takes effect at once
   * @param key of the HMAC of credentials, the same in all workers
   */
  constructor(primary: ToPrimary, clock: Clock, policy: () => SecurityPolicy, key: Buffer) {
    this.#primary = primary;
    this.#clock = clock;
    this.#policy = policy;
    this.#key = key;
  }

  keyOf(text: string): string {
    return acceptedKeyOf(this.#key, text);
  }

  async isRefused(source: string): Promise<{ retryAfterS: number } | undefined> {
    if (this.#bannedUntilMs.size === 0) return undefined;
    return refusalFor((this.#bannedUntilMs.get(source) ?? 0) - this.#clock.monotonicMs());
  }

  async begin(attempt: LoginAttempt, leaseMs: number, isInLine: boolean): Promise<Admission> {
    if (this.#policy().ban_after_failures === 0) return { kind: 'admitted', isKnown: false };
    const refusal = await this.isRefused(attempt.source);
    if (refusal) return { kind: 'refused', ...refusal };
    if (this.#isAccepted(attempt)) return { kind: 'admitted', isKnown: true };
    return this.#primary.call('beginAttempt', attempt, leaseMs, isInLine);
  }

  async end(attempt: LoginAttempt, outcome: AttemptOutcome): Promise<void> {
    const { ban_after_failures, ban_window_seconds } = this.#policy();
    if (ban_after_failures === 0) return;
    const isAccepted = this.#isAccepted(attempt);
    if (isAccepted && outcome !== 'failed' && !this.#bannedUntilMs.has(attempt.source)) return;
    if (outcome === 'failed') this.#accepted.delete(attemptKey(attempt));
    await this.#primary.call('endAttempt', attempt, outcome);
    if (outcome === 'succeeded') this.#accepted.set(attemptKey(attempt), true, this.#clock.monotonicMs() + (ban_window_seconds * 1000) / 2);
  }

  list(): Promise<ListedBan[]> {
    return this.#primary.call('listBans');
  }

  lift(sources: readonly string[]): Promise<void> {
    return this.#primary.call('liftBans', sources);
  }

  /** Takes over what the primary process knows. */
  note(notes: readonly BanNote[]): void {
    for (const [source, bannedForMs] of notes) {
      this.#bannedUntilMs.delete(source);
      if (bannedForMs < 0) continue;
      this.#bannedUntilMs.set(source, this.#clock.monotonicMs() + bannedForMs);
      dropOldest(this.#bannedUntilMs, mostAddresses);
    }
  }

  #isAccepted(attempt: LoginAttempt): boolean {
    return this.#accepted.has(attemptKey(attempt), this.#clock.monotonicMs());
  }
}
