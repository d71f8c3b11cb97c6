import type { Account } from '../../accounts/account.ts';
import type { SecurityPolicy } from '../../auth/ban-list.ts';
import type { AcceptedCredentials } from '../../auth/callout-cache.ts';
import { MemoryAcceptedCredentials, newAcceptedKey } from '../../auth/callout-cache.ts';
import type { SessionLifetimes, SessionOverview } from '../../auth/sessions.ts';
import { Turns } from '../../files/disk/turns.ts';
import { MemoryLocks } from '../../files/locks/memory-locks.ts';
import { QuotaLedger } from '../../files/quota-ledger.ts';
import type { Clock } from '../../lib/clock.ts';
import { MemoryUrlHealth } from '../../lib/remote/url-health.ts';
import { Places } from '../../lib/turns/places.ts';
import type { DeliveringState } from '../state.ts';
import { BanHost } from './ban-host.ts';
import type { JournalApi } from './journal-host.ts';
import { confirmed, type Peer } from './peer.ts';
import type { PrimaryApi } from './protocol.ts';
import { SessionHost } from './session-host.ts';
import type { UploadApi } from './upload-host.ts';

/** What the state needs to know of the configuration in force. */
export interface StateSurroundings {
  clock: Clock;
  policy: () => SecurityPolicy;
  lifetimes: (service: string) => SessionLifetimes;
  /** Told of each session that timed out. */
  onTimeout: (service: string, account: Account) => void;
}

/** The methods that workers call for the state that they share. */
export type StateApi = Omit<PrimaryApi, keyof JournalApi | keyof UploadApi>;

/** The state that workers share, in the primary process; it outlives each of them. */
export class StateHost {
  readonly peers = new Set<Peer>();
  readonly bans: BanHost;
  readonly acceptedKey = newAcceptedKey();
  readonly #surroundings: StateSurroundings;
  readonly #locks: MemoryLocks;
  readonly #turns = new Turns<Peer>();
  readonly #places = new Places<Peer>();
  readonly #quotas: QuotaLedger;
  readonly #sessions = new Map<string, SessionHost>();
  readonly #urls = new Map<string, MemoryUrlHealth>();
  readonly #accepted = new Map<string, { lifetimeMs: number; kept: AcceptedCredentials }>();

  constructor(surroundings: StateSurroundings) {
    this.#surroundings = surroundings;
    this.#locks = new MemoryLocks(surroundings.clock);
    this.#quotas = new QuotaLedger(surroundings.clock);
    this.bans = new BanHost(surroundings.clock, surroundings.policy, this.peers);
  }

  /** The same state for what runs in the primary process itself: handlers, the tests of authentication methods, the control socket, consoles. */
  get own(): Pick<DeliveringState, 'bans' | 'locks' | 'urlHealth' | 'accepted'> {
    return {
      bans: this.bans.own(this.acceptedKey),
      locks: this.#locks,
      urlHealth: (scope) => this.#health(scope),
      accepted: (method, lifetimeMs) => this.#acceptedOf(method, lifetimeMs),
    };
  }

  /** Active sessions. */
  countSessions(service: string): number {
    return this.#sessions.get(service)?.count ?? 0;
  }

  /** The sessions of each service that has had any. */
  sessions(): ReadonlyMap<string, SessionOverview> {
    return this.#sessions;
  }

  /** Forgets the sessions of services that are not there any more. */
  keepOnly(services: readonly string[]): void {
    for (const [service, sessions] of this.#sessions) {
      if (services.includes(service)) continue;
      sessions.close();
      this.#sessions.delete(service);
    }
  }

  /** What a worker may call. */
  apiFor(peer: Peer): StateApi {
    const { clock } = this.#surroundings;
    return {
      createSession: (service, key, account, address, most) => this.#sessionsOf(service).create(peer, key, account, address, most),
      findSession: (service, key) => this.#sessionsOf(service).find(peer, key),
      useSessions: (service, uses) => this.#sessionsOf(service).use(peer, uses),
      endSession: (service, key) => this.#sessionsOf(service).end(peer, key),
      endSessions: (service, accountUuid, exceptKey) => this.#sessionsOf(service).endAll(accountUuid, exceptKey),
      countSessions: (service) => this.countSessions(service),
      beginAttempt: (attempt, leaseMs, isInLine) => this.bans.begin(peer, attempt, leaseMs, isInLine),
      endAttempt: (attempt, outcome) => this.bans.end(peer, attempt, outcome),
      listSessions: (service) => this.#sessionsOf(service).list(),
      endSessionKeys: (service, keys) => this.#sessionsOf(service).endKeys(keys),
      listBans: () => this.bans.list(),
      liftBans: (sources) => this.bans.lift(sources),
      takeLock: (request) => this.#locks.take(request),
      refreshLock: (token, timeoutMs) => this.#locks.refresh(token, timeoutMs),
      releaseLock: (token) => this.#locks.release(token),
      locksCovering: (path) => this.#locks.covering(path),
      locksWithin: (path) => this.#locks.within(path),
      availableUrls: (scope, urls) => this.#health(scope).available(urls),
      suspendUrl: (scope, url) => this.#health(scope).suspend(url),
      findAccepted: (method, lifetimeMs, key) => this.#acceptedOf(method, lifetimeMs).find(key),
      keepAccepted: (method, lifetimeMs, key, result) => this.#acceptedOf(method, lifetimeMs).keep(key, result),
      accountsChanged: async () => {
        await Promise.all([...this.peers].map((other) => confirmed(other, clock, other.channel.call('lookAtAccounts'))));
      },
      takeTurn: (path) => this.#turns.take(peer, path),
      takePlaces: async (limits) => this.#places.take(peer, limits),
      freePlaces: (names) => this.#places.free(peer, names),
      endTurn: (path) => this.#turns.end(peer, path),
      claimQuota: async (folders, id, claim, count) => this.#quotas.claim(peer, folders, id, claim, count),
      releaseQuota: (folders, id, isDone) => this.#quotas.release(peer, folders, id, isDone),
      beginMoveInQuota: (folders, id) => this.#quotas.beginMove(peer, folders, id),
      removedInQuota: (folders) => this.#quotas.removed(folders),
      usedQuota: async (folders, count) => this.#quotas.used(folders, count),
    };
  }

  /** A worker is gone: what it held is free, what it knew stays. */
  lose(peer: Peer): void {
    this.peers.delete(peer);
    for (const sessions of this.#sessions.values()) sessions.lose(peer);
    this.bans.lose(peer);
    this.#turns.lose(peer);
    this.#places.lose(peer);
    this.#quotas.lose(peer);
  }

  close(): void {
    this.keepOnly([]);
  }

  #sessionsOf(service: string): SessionHost {
    const { clock, lifetimes, onTimeout } = this.#surroundings;
    let sessions = this.#sessions.get(service);
    if (!sessions) {
      sessions = new SessionHost(service, {
        clock,
        lifetimes: () => lifetimes(service),
        onTimeout: (account) => onTimeout(service, account),
      });
      this.#sessions.set(service, sessions);
    }
    return sessions;
  }

  #health(scope: string): MemoryUrlHealth {
    const health = this.#urls.get(scope) ?? new MemoryUrlHealth(this.#surroundings.clock);
    this.#urls.set(scope, health);
    return health;
  }

  #acceptedOf(method: string, lifetimeMs: number): AcceptedCredentials {
    const known = this.#accepted.get(method);
    if (known?.lifetimeMs === lifetimeMs) return known.kept;
    const kept = new MemoryAcceptedCredentials(this.#surroundings.clock, lifetimeMs, this.acceptedKey);
    this.#accepted.set(method, { lifetimeMs, kept });
    return kept;
  }
}
