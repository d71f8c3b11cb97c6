import { newSessionId, sessionKey } from '../../auth/sessions.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { ExpiringMap } from '../../lib/expiring-map.ts';
import type { Administrator, Administrators } from './administrators.ts';

export const linkLifetimeMs = 5 * 60_000;

/** Maximum number of valid links. A further one invalidates the oldest. */
const maxLinks = 16;

/** Login links. Each one logs in an administrator without a password, once, within five minutes. Only hashes of their tokens are kept. */
export class LoginLinks {
  readonly #clock: Clock;
  readonly #names = new ExpiringMap<string>(maxLinks);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Creates a token for the administrator with this name. */
  issue(name: string): string {
    const token = newSessionId();
    this.#names.set(sessionKey(token), name, this.#clock.monotonicMs() + linkLifetimeMs);
    return token;
  }

  /** Returns the name of the administrator whom a token logs in; undefined if the token was used or has expired. */
  redeem(token: string): string | undefined {
    return this.#names.take(sessionKey(token), this.#clock.monotonicMs());
  }
}

/** Maximum number of sessions of an administrator. A further one ends the session that has been unused for the longest time. */
export const maxSessionsPerAdministrator = 100;

const sweepEveryMs = 5000;

/** A valid session. `key` is the hash of its ID. The ID itself is not kept. */
export interface AdministratorSession {
  readonly key: string;
  readonly administrator: Administrator;
  readonly createdMs: number;
}

interface Lifetimes {
  idleMs: number;
  maximumAgeMs: number;
}

interface Entry {
  session: AdministratorSession;
  /** Monotonic times in milliseconds. */
  createdMs: number;
  lastUsedMs: number;
}

/** Sessions of administrators, in the memory of this process. They end when the console is stopped. */
export class AdministratorSessions {
  readonly #clock: Clock;
  readonly #lifetimes: () => Lifetimes;
  readonly #onEnd: (session: AdministratorSession) => void;
  /** The sessions by key, least recently used first. */
  readonly #sessions = new Map<string, Entry>();
  readonly #sweeper: Timer;

  /**
   * @param lifetimes called at each check, so that a reload also applies to existing sessions
   * @param onEnd called for each session that ended, for any reason
   */
  constructor(clock: Clock, lifetimes: () => Lifetimes, onEnd: (session: AdministratorSession) => void) {
    this.#onEnd = onEnd;
    this.#clock = clock;
    this.#lifetimes = lifetimes;
    this.#sweeper = clock.every(sweepEveryMs, () => {
      for (const entry of [...this.#sessions.values()]) this.#endIfOver(entry);
    });
  }

  /** Begins a session. @returns its ID */
  create(administrator: Administrator): string {
    const others = this.#find(({ name }) => name === administrator.name);
    if (others[0] && others.length >= maxSessionsPerAdministrator) this.end(others[0]);
    const id = newSessionId();
    const nowMs = this.#clock.monotonicMs();
    const session = { key: sessionKey(id), administrator, createdMs: this.#clock.nowMs() };
    this.#sessions.set(session.key, { session, createdMs: nowMs, lastUsedMs: nowMs });
    return id;
  }

  /** Returns the valid session with this ID, and records that it is in use; undefined if there is none. */
  find(id: string): AdministratorSession | undefined {
    const entry = this.#sessions.get(sessionKey(id));
    if (!entry || this.#endIfOver(entry)) return undefined;
    this.touch(entry.session);
    return entry.session;
  }

  /** Records that a session is in use. @returns whether it still exists */
  touch({ key }: AdministratorSession): boolean {
    const entry = this.#sessions.get(key);
    if (!entry) return false;
    entry.lastUsedMs = this.#clock.monotonicMs();
    this.#sessions.delete(key);
    this.#sessions.set(key, entry);
    return true;
  }

  end(session: AdministratorSession): void {
    if (this.#sessions.delete(session.key)) this.#onEnd(session);
  }

  /** Ends the sessions of administrators who were removed, or whose password or role was changed. @returns how many were ended */
  keepOnly(administrators: Administrators): number {
    const over = this.#find((administrator) => !administrators.knows(administrator));
    for (const session of over) this.end(session);
    return over.length;
  }

  close(): void {
    this.#sweeper.cancel();
  }

  #find(isMeant: (administrator: Administrator) => boolean): AdministratorSession[] {
    return [...this.#sessions.values()].flatMap(({ session }) => (isMeant(session.administrator) ? [session] : []));
  }

  #endIfOver({ session, lastUsedMs, createdMs }: Entry): boolean {
    const { idleMs, maximumAgeMs } = this.#lifetimes();
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - lastUsedMs <= idleMs && nowMs - createdMs <= maximumAgeMs) return false;
    this.end(session);
    return true;
  }
}
