import type { AuthResult } from '../../auth/auth-method.ts';
import type { SecurityPolicy } from '../../auth/ban-list.ts';
import { type AcceptedCredentials, acceptedKeyOf } from '../../auth/callout-cache.ts';
import type { SessionLifetimes } from '../../auth/sessions.ts';
import type { LockStore } from '../../files/locks/lock-store.ts';
import type { Clock } from '../../lib/clock.ts';
import { MemoryUrlHealth, type UrlHealth } from '../../lib/remote/url-health.ts';
import type { SharedPlaces } from '../../lib/turns/places.ts';
import type { SharedState } from '../state.ts';
import { BanClient } from './ban-client.ts';
import type { SessionUse, ToPrimary } from './protocol.ts';
import { SessionClient } from './session-client.ts';

/** The state that workers share, in a worker: it is kept in the primary process. */
export class StateClient implements SharedState {
  readonly bans: BanClient;
  readonly locks: LockStore;
  readonly places: SharedPlaces;
  readonly #primary: ToPrimary;
  readonly #clock: Clock;
  readonly #acceptedKey: Buffer;
  readonly #sessions = new Map<string, SessionClient>();

  /** @param acceptedKey the same in all workers */
  constructor(primary: ToPrimary, clock: Clock, policy: () => SecurityPolicy, acceptedKey: Buffer) {
    this.#primary = primary;
    this.#clock = clock;
    this.#acceptedKey = acceptedKey;
    this.bans = new BanClient(primary, clock, policy, acceptedKey);
    this.locks = {
      take: (request) => primary.call('takeLock', request),
      refresh: (token, timeoutMs) => primary.call('refreshLock', token, timeoutMs),
      release: (token) => primary.call('releaseLock', token),
      covering: (path) => primary.call('locksCovering', path),
      within: (path) => primary.call('locksWithin', path),
    };
    this.places = {
      take: (limits) => primary.call('takePlaces', limits),
      free: (names) => primary.tell('freePlaces', names),
    };
  }

  sessions(service: string, lifetimes: () => SessionLifetimes): SessionClient {
    const sessions = new SessionClient(this.#primary, service, this.#clock, lifetimes);
    this.#sessions.set(service, sessions);
    return sessions;
  }

  urlHealth(scope: string): UrlHealth {
    const own = new MemoryUrlHealth(this.#clock);
    return {
      available: (urls) => this.#primary.call('availableUrls', scope, urls),
      suspend: async (url) => {
        await own.suspend(url);
        await this.#primary.call('suspendUrl', scope, url);
      },
      countSuspended: () => own.countSuspended(),
    };
  }

  accepted(method: string, lifetimeMs: number): AcceptedCredentials {
    return {
      keyOf: (question) => acceptedKeyOf(this.#acceptedKey, question),
      find: (key) => this.#primary.call('findAccepted', method, lifetimeMs, key),
      keep: (key: string, result: AuthResult) => this.#primary.call('keepAccepted', method, lifetimeMs, key, result),
    };
  }

  /** Sessions of a service that ended. */
  endSessions(service: string, keys: readonly string[]): void {
    this.#sessions.get(service)?.forget(keys);
  }

  /** What the primary process does not know yet of the use of sessions. */
  reportSessions(service: string, keys: readonly string[]): SessionUse[] {
    return this.#sessions.get(service)?.report(keys) ?? [];
  }

  check(): true {
    return true;
  }

  async close(): Promise<void> {}
}
