import {
  type AddressBans,
  type Admission,
  type AttemptOutcome,
  acceptedSources,
  type Ban,
  foldedName,
  type ListedBan,
  type LoginAttempt,
  maxAcceptedPerSource,
  maxAddresses,
  nameFailures,
  namesSomebody,
  type Refusal,
  refusalFor,
  refused,
  type SecurityPolicy,
} from '../../auth/ban-list.ts';
import { acceptedKey, newAcceptedKey } from '../../auth/callout-cache.ts';
import type { Clock } from '../../lib/clock.ts';
import { dropOldest, ExpiringMap } from '../../lib/expiring-map.ts';

/** The login attempts from a source. Each entry is a credential, together with the user name that was sent with it. */
class SourceRecord {
  bannedUntilMs = 0;
  bannedSinceMs = 0;
  /** Number of failures that caused the ban. */
  failures = 0;
  readonly failed = new ExpiringMap<string>();
  readonly underWay = new ExpiringMap<string>();
  readonly accepted = new ExpiringMap<string>(maxAcceptedPerSource);
}

class NameRecord {
  readonly failed = new ExpiringMap<true>();
  readonly underWay = new ExpiringMap<true>();
}

/** Stores the failed attempts and bans of one process (docs/spec/authentication.md#brute-force). */
export class MemoryBans implements AddressBans {
  readonly #clock: Clock;
  readonly #policy: () => SecurityPolicy;
  readonly #key = newAcceptedKey();
  readonly #sources = new Map<string, SourceRecord>();
  /** By folded name, as `foldedName` returns it. */
  readonly #names = new Map<string, NameRecord>();
  /** For each user name, exactly as it was sent, the sources from which a login was accepted. */
  readonly #acceptedFrom = new Map<string, ExpiringMap<true>>();

  /** @param policy called for each attempt, so that a reload takes effect immediately */
  constructor(clock: Clock, policy: () => SecurityPolicy) {
    this.#clock = clock;
    this.#policy = policy;
  }

  keyFor(text: string): string {
    return acceptedKey(this.#key, text);
  }

  async isRefused(source: string): Promise<Refusal | undefined> {
    return refusalFor(this.#bannedForMs(source));
  }

  async begin({ source, username, credential }: LoginAttempt, leaseMs: number, isInLine: boolean): Promise<Admission> {
    const { ban_after_failures: limit } = this.#policy();
    if (limit === 0) return { kind: 'admitted', isKnown: false };
    const bannedForMs = this.#bannedForMs(source);
    if (bannedForMs > 0) return refused('address', bannedForMs);
    const nowMs = this.#clock.monotonicMs();
    const record = this.#sources.get(source) ?? new SourceRecord();
    if (record.accepted.has(credential, nowMs)) return { kind: 'admitted', isKnown: true };
    const name = this.#names.get(foldedName(username)) ?? new NameRecord();
    const isCountedForName = name.failed.has(credential, nowMs) || name.underWay.has(credential, nowMs);
    if (namesSomebody(username) && !isCountedForName && !this.#acceptedFrom.get(username)?.has(source, nowMs)) {
      if (name.failed.count(nowMs) + name.underWay.count(nowMs) >= nameFailures.most)
        return refused('name', (name.failed.firstEndMs(nowMs) ?? nowMs) - nowMs);
    }
    const isCounted = record.failed.has(credential, nowMs) || record.underWay.has(credential, nowMs);
    if (!isCounted) {
      if (!isInLine || record.failed.count(nowMs) + record.underWay.count(nowMs) >= limit) return { kind: 'busy' };
      record.underWay.set(credential, username, nowMs + leaseMs);
      keep(this.#sources, source, record);
    }
    if (namesSomebody(username) && !isCountedForName) {
      name.underWay.set(credential, true, nowMs + leaseMs);
      keep(this.#names, foldedName(username), name);
    }
    return { kind: 'admitted', isKnown: false };
  }

  async end(attempt: LoginAttempt, outcome: AttemptOutcome): Promise<void> {
    if (this.#policy().ban_after_failures === 0) return;
    this.#sources.get(attempt.source)?.underWay.delete(attempt.credential);
    this.#names.get(foldedName(attempt.username))?.underWay.delete(attempt.credential);
    if (outcome === 'failed') this.#countFailure(attempt);
    if (outcome === 'succeeded') this.#countSuccess(attempt);
  }

  async list(): Promise<ListedBan[]> {
    const nowMs = this.#clock.monotonicMs();
    const addresses = [...this.#sources].map(
      ([of, { bannedSinceMs, failures }]): ListedBan => ({
        by: 'address',
        of,
        leftMs: this.#bannedForMs(of),
        ageMs: nowMs - bannedSinceMs,
        failures,
      }),
    );
    const names = [...this.#names].flatMap(([of, { failed }]): ListedBan[] => {
      const endsMs = failed.endsMs(nowMs);
      const [firstMs = nowMs, lastMs] = [endsMs[0], endsMs[nameFailures.most - 1]];
      if (lastMs === undefined) return [];
      return [{ by: 'name', of, leftMs: firstMs - nowMs, ageMs: nowMs - (lastMs - nameFailures.windowMs), failures: endsMs.length }];
    });
    return [...addresses.filter(({ leftMs }) => leftMs > 0), ...names];
  }

  async lift(bans: readonly Ban[]): Promise<void> {
    for (const { by, of } of bans) {
      const record = by === 'address' ? this.#sources.get(of) : this.#names.get(of);
      record?.failed.clear();
      if (record instanceof SourceRecord) record.bannedUntilMs = 0;
    }
  }

  /** Returns the remaining time of a ban in milliseconds; 0 for a source that is not banned. */
  #bannedForMs(source: string): number {
    return Math.max((this.#sources.get(source)?.bannedUntilMs ?? 0) - this.#clock.monotonicMs(), 0);
  }

  #countFailure({ source, username, credential }: LoginAttempt): void {
    const { ban_after_failures, ban_seconds, ban_window_seconds } = this.#policy();
    const nowMs = this.#clock.monotonicMs();
    if (namesSomebody(username)) {
      const name = this.#names.get(foldedName(username)) ?? new NameRecord();
      if (!name.failed.has(credential, nowMs)) name.failed.set(credential, true, nowMs + nameFailures.windowMs);
      keep(this.#names, foldedName(username), name);
    }
    const record = this.#sources.get(source) ?? new SourceRecord();
    record.accepted.delete(credential);
    if (!record.failed.has(credential, nowMs)) record.failed.set(credential, username, nowMs + ban_window_seconds * 1000);
    const failures = record.failed.count(nowMs);
    if (failures >= ban_after_failures) {
      Object.assign(record, { bannedUntilMs: nowMs + ban_seconds * 1000, bannedSinceMs: nowMs, failures });
      record.failed.clear();
    }
    keep(this.#sources, source, record);
  }

  #countSuccess({ source, username, credential }: LoginAttempt): void {
    const nowMs = this.#clock.monotonicMs();
    const record = this.#sources.get(source) ?? new SourceRecord();
    record.failed.deleteWhere((failed) => failed === username);
    record.accepted.set(credential, username, nowMs + this.#policy().ban_window_seconds * 1000);
    keep(this.#sources, source, record);
    if (!namesSomebody(username)) return;
    const from = this.#acceptedFrom.get(username) ?? new ExpiringMap<true>(acceptedSources.most);
    from.set(source, true, nowMs + acceptedSources.lifetimeMs);
    keep(this.#acceptedFrom, username, from);
  }
}

function keep<T>(records: Map<string, T>, key: string, record: T): void {
  records.delete(key);
  records.set(key, record);
  dropOldest(records, maxAddresses);
}
