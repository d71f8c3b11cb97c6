import {
  type AddressBans,
  type Admission,
  type AttemptOutcome,
  attemptKey,
  type BanOverview,
  type ListedBan,
  type LoginAttempt,
  type SecurityPolicy,
} from '../../auth/ban-list.ts';
import { MemoryBans } from '../../auth/ban-list-memory.ts';
import { acceptedKeyOf } from '../../auth/callout-cache.ts';
import type { Clock } from '../../lib/clock.ts';
import { confirmed, type Peer } from './peer.ts';
import type { BanNote } from './protocol.ts';

/** Counts failed attempts in the primary process, and has all workers know who is banned. */
export class BanHost implements BanOverview {
  readonly #clock: Clock;
  readonly #bans: MemoryBans;
  readonly #peers: ReadonlySet<Peer>;
  /** Attempts under way, by source and credentials. */
  readonly #underWay = new Map<Peer, Map<string, LoginAttempt>>();

  /** @param peers all workers */
  constructor(clock: Clock, policy: () => SecurityPolicy, peers: ReadonlySet<Peer>) {
    this.#clock = clock;
    this.#bans = new MemoryBans(clock, policy);
    this.#peers = peers;
  }

  /** What a new worker has to know. */
  notes(): BanNote[] {
    return this.#bans.known();
  }

  /**
   * The same bans for those who log in to the primary process itself.
   *
   * @param key of the hashes of credentials
   */
  own(key: Buffer): AddressBans {
    return {
      keyOf: (text) => acceptedKeyOf(key, text),
      isRefused: (source) => this.#bans.isRefused(source),
      begin: (attempt, leaseMs, isInLine) => this.#bans.begin(attempt, leaseMs, isInLine),
      end: (attempt, outcome) => this.end(undefined, attempt, outcome),
      list: () => this.list(),
      lift: (sources) => this.lift(sources),
    };
  }

  async begin(peer: Peer, attempt: LoginAttempt, leaseMs: number, isInLine: boolean): Promise<Admission> {
    const admission = await this.#bans.begin(attempt, leaseMs, isInLine);
    if (admission.kind === 'admitted' && !admission.isKnown) {
      const underWay = this.#underWay.get(peer) ?? new Map<string, LoginAttempt>();
      this.#underWay.set(peer, underWay.set(attemptKey(attempt), attempt));
    }
    return admission;
  }

  /**
   * Counts an outcome; resolves when all workers know of the ban that it brought.
   *
   * @param peer the worker that checked the credentials; undefined for the primary process
   */
  async end(peer: Peer | undefined, attempt: LoginAttempt, outcome: AttemptOutcome): Promise<void> {
    const { source } = attempt;
    const hadFailures = this.#bans.hasFailures(source);
    if (peer) this.#underWay.get(peer)?.delete(attemptKey(attempt));
    await this.#bans.end(attempt, outcome);
    const bannedForMs = this.#bans.bannedForMs(source);
    if (outcome === 'failed') {
      const told = this.#tellAll([[source, bannedForMs]]);
      if (bannedForMs > 0) await told;
    } else if (hadFailures && bannedForMs === 0 && !this.#bans.hasFailures(source)) void this.#tellAll([[source, -1]]);
  }

  list(): Promise<ListedBan[]> {
    return this.#bans.list();
  }

  async lift(sources: readonly string[]): Promise<void> {
    await this.#bans.lift(sources);
    await this.#tellAll(sources.map((source) => [source, -1]));
  }

  /** A worker is gone, and with it what it was about to check. */
  lose(peer: Peer): void {
    for (const attempt of this.#underWay.get(peer)?.values() ?? []) void this.#bans.end(attempt, 'unknown');
    this.#underWay.delete(peer);
  }

  async #tellAll(notes: BanNote[]): Promise<void> {
    await Promise.all([...this.#peers].map((peer) => confirmed(peer, this.#clock, peer.channel.call('noteBans', notes))));
  }
}
