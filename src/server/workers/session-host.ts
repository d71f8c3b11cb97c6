import { type Account, accountOfText } from '../../accounts/account.ts';
import { expiryMs, type ListedSession, mostSessionsOfAccount, type SessionLifetimes, type SessionOverview } from '../../auth/sessions.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { confirmed, type Peer } from './peer.ts';
import type { SessionRecord, SessionUse } from './protocol.ts';

const sweepEveryMs = 1000;

interface Kept {
  readonly key: string;
  readonly record: SessionRecord;
  readonly account: Account;
  readonly address: string;
  /** Monotonic, as far as the workers told. */
  lastUsedMs: number;
  /** Transfers that run, by worker. */
  readonly holds: Map<Peer, number>;
  /** Workers that may answer from their own memory of the session. */
  readonly knownBy: Set<Peer>;
  /** The worker that has the connection whose session it is, with which it ends. */
  readonly endsWith: Peer | undefined;
}

/**
 * The sessions of one service, in the primary process. Workers remember those that they have met and tell of their use in batches;
 * so before a session times out they are asked for what they have not told yet, and before an end is answered they have all
 * forgotten it.
 */
export class SessionHost implements SessionOverview {
  readonly #service: string;
  readonly #clock: Clock;
  readonly #lifetimes: () => SessionLifetimes;
  readonly #onTimeout: (account: Account) => void;
  readonly #kept = new Map<string, Kept>();
  readonly #ofAccounts = new Map<string, Set<Kept>>();
  readonly #sweeper: Timer;
  #isSweeping = false;

  /**
   * @param lifetimes asked each time, so that a reload takes effect at once
   * @param onTimeout told of each session that timed out (event 40015)
   */
  constructor(service: string, surroundings: { clock: Clock; lifetimes: () => SessionLifetimes; onTimeout: (account: Account) => void }) {
    this.#service = service;
    this.#clock = surroundings.clock;
    this.#lifetimes = surroundings.lifetimes;
    this.#onTimeout = surroundings.onTimeout;
    this.#sweeper = this.#clock.every(sweepEveryMs, () => void this.#sweep());
  }

  /**
   * Begins a session; where the account has `mostSessionsOfAccount` already, the one unused for longest times out.
   *
   * @param most of the account, for the session of a connection
   * @returns when it began, Unix time in milliseconds; undefined when the account has `most` already
   */
  async create(peer: Peer, key: string, accountText: string, address: string, most?: number): Promise<number | undefined> {
    const createdMs = this.#clock.nowMs();
    const account = accountOfText(accountText);
    const own = this.#ofAccounts.get(account.uuid) ?? new Set();
    if (most !== undefined && own.size >= most) return undefined;
    const kept: Kept = {
      key,
      record: { account: accountText, createdMs },
      account,
      address,
      lastUsedMs: this.#clock.monotonicMs(),
      holds: new Map(),
      knownBy: new Set([peer]),
      endsWith: most === undefined ? undefined : peer,
    };
    this.#kept.set(key, kept);
    this.#ofAccounts.set(account.uuid, own.add(kept));
    if (most === undefined && own.size > mostSessionsOfAccount) await this.#keepWithin(own, kept);
    return createdMs;
  }

  /** The session of a key while it is active; the worker may cache it from then on. */
  async find(peer: Peer, key: string): Promise<SessionRecord | undefined> {
    const kept = this.#kept.get(key);
    if (!kept) return undefined;
    if (this.#seemsOver(kept)) await this.#endThoseOver([kept]);
    if (this.#kept.get(key) !== kept) return undefined;
    kept.lastUsedMs = this.#clock.monotonicMs();
    kept.knownBy.add(peer);
    return kept.record;
  }

  /** Notes what a worker tells of the use of sessions. */
  use(peer: Peer, uses: readonly SessionUse[]): void {
    for (const [key, lastUsedMs, holds] of uses) {
      const kept = this.#kept.get(key);
      if (!kept) continue;
      kept.lastUsedMs = Math.max(kept.lastUsedMs, lastUsedMs);
      if (holds > 0) kept.holds.set(peer, holds);
      else kept.holds.delete(peer);
    }
  }

  /** Ends a session; resolves when no worker remembers it. */
  async end(peer: Peer, key: string): Promise<void> {
    const kept = this.#kept.get(key);
    if (kept) await this.#forget([kept], peer);
  }

  /** Ends all sessions of an account but one; resolves when no worker remembers them. @returns how many ended */
  async endAll(accountUuid: string, exceptKey: string | undefined): Promise<number> {
    const ended = [...(this.#ofAccounts.get(accountUuid) ?? [])].filter(({ key }) => key !== exceptKey);
    await this.#forget(ended);
    return ended.length;
  }

  async endKeys(keys: readonly string[]): Promise<void> {
    await this.#forget(keys.flatMap((key) => this.#kept.get(key) ?? []));
  }

  async list(): Promise<ListedSession[]> {
    const lifetimes = this.#lifetimes();
    return [...this.#kept.values()]
      .filter((kept) => !this.#seemsOver(kept))
      .map(({ key, account, address, record: { createdMs }, lastUsedMs, holds }) => ({
        key,
        account: account.name,
        address,
        createdMs,
        expiresMs: expiryMs(createdMs, holds.size > 0 ? undefined : lastUsedMs, lifetimes, this.#clock),
      }));
  }

  get count(): number {
    return this.#kept.size;
  }

  /** A worker is gone, and its connections and transfers with it. */
  lose(peer: Peer): void {
    const nowMs = this.#clock.monotonicMs();
    for (const kept of this.#kept.values()) {
      kept.knownBy.delete(peer);
      if (kept.holds.delete(peer)) kept.lastUsedMs = nowMs;
    }
    void this.#forget([...this.#kept.values()].filter(({ endsWith }) => endsWith === peer));
  }

  close(): void {
    this.#sweeper.cancel();
  }

  #isOld({ record }: Kept): boolean {
    return this.#clock.nowMs() - record.createdMs > this.#lifetimes().maximumAgeMs;
  }

  /** By what is known here; a worker may know of a later use. */
  #seemsOver(kept: Kept): boolean {
    const isIdle = kept.holds.size === 0 && this.#clock.monotonicMs() - kept.lastUsedMs > this.#lifetimes().idleMs;
    return isIdle || this.#isOld(kept);
  }

  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    const over = [...this.#kept.values()].filter((kept) => this.#seemsOver(kept));
    if (over.length > 0) await this.#endThoseOver(over);
    this.#isSweeping = false;
  }

  async #endThoseOver(candidates: readonly Kept[]): Promise<void> {
    await this.#askForUses(candidates.filter((kept) => !this.#isOld(kept)));
    // Another may have ended it while the workers were asked.
    const over = candidates.filter((kept) => this.#kept.get(kept.key) === kept && this.#seemsOver(kept));
    const forgotten = this.#forget(over);
    for (const { account } of over) this.#onTimeout(account);
    await forgotten;
  }

  async #keepWithin(own: ReadonlySet<Kept>, newest: Kept): Promise<void> {
    await this.#askForUses([...own]);
    while (own.size > mostSessionsOfAccount) {
      const others = [...own].filter((kept) => kept !== newest);
      const idle = others.filter((kept) => kept.holds.size === 0);
      const candidates = idle.length > 0 ? idle : others;
      const longest = candidates.reduce((found, kept) => (kept.lastUsedMs < found.lastUsedMs ? kept : found));
      const forgotten = this.#forget([longest]);
      this.#onTimeout(longest.account);
      await forgotten;
    }
  }

  async #askForUses(sessions: readonly Kept[]): Promise<void> {
    await Promise.all(
      keysByPeer(sessions).map(async ([peer, keys]) => {
        const uses = await confirmed(peer, this.#clock, peer.channel.call('reportSessions', this.#service, keys));
        this.use(peer, uses ?? []);
      }),
    );
  }

  async #forget(sessions: readonly Kept[], except?: Peer): Promise<void> {
    for (const kept of sessions) {
      this.#kept.delete(kept.key);
      const own = this.#ofAccounts.get(kept.account.uuid);
      own?.delete(kept);
      if (own?.size === 0) this.#ofAccounts.delete(kept.account.uuid);
    }
    await Promise.all(
      keysByPeer(sessions)
        .filter(([peer]) => peer !== except)
        .map(([peer, keys]) => confirmed(peer, this.#clock, peer.channel.call('endSessionsHere', this.#service, keys))),
    );
  }
}

function keysByPeer(sessions: readonly Kept[]): [Peer, string[]][] {
  const keys = new Map<Peer, string[]>();
  for (const { key, knownBy } of sessions) for (const peer of knownBy) keys.set(peer, [...(keys.get(peer) ?? []), key]);
  return [...keys];
}
