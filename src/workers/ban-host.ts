import { MemoryBans, type SecurityPolicy, sourceOf } from '../auth/ban-list.ts';
import type { Clock } from '../lib/clock.ts';
import { confirmed, type Peer } from './peer.ts';
import type { BanNote } from './protocol.ts';

/** Counts failed attempts in the primary process, and has all workers know who is banned. */
export class BanHost {
  readonly #clock: Clock;
  readonly #bans: MemoryBans;
  readonly #peers: ReadonlySet<Peer>;

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

  /** Counts a failure; resolves when all workers know of the ban that it brought. */
  async failed(address: string): Promise<void> {
    await this.#bans.failed(address);
    const source = sourceOf(address);
    const bannedForMs = this.#bans.bannedForMs(source);
    const told = this.#tellAll([[source, bannedForMs]]);
    if (bannedForMs > 0) await told;
  }

  async succeeded(address: string): Promise<void> {
    await this.#bans.succeeded(address);
    void this.#tellAll([[sourceOf(address), -1]]);
  }

  async #tellAll(notes: BanNote[]): Promise<void> {
    await Promise.all([...this.#peers].map((peer) => confirmed(peer, this.#clock, peer.channel.call('noteBans', notes))));
  }
}
