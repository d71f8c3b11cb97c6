import { hash, randomBytes } from 'node:crypto';
import { newSessionId, sessionKey } from '../../auth/sessions.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { ExpiringMap } from '../../lib/expiring-map.ts';
import type { Administrator, Administrators } from './administrators.ts';

/** How long a login link can be used, in milliseconds. */
export const linkLifetimeMs = 5 * 60_000;

/** Links that can be used at once; one more makes the oldest useless. */
const maxLinks = 16;

/** Links that log in without a password: each once, and for five minutes. The tokens themselves are kept nowhere. */
export class LoginLinks {
  readonly #clock: Clock;
  readonly #names = new ExpiringMap<string>(maxLinks);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A new token for an administrator (by name), the only time that it is known. */
  issue(name: string): string {
    const token = randomBytes(32).toString('base64url');
    this.#names.set(keyOf(token), name, this.#clock.monotonicMs() + linkLifetimeMs);
    return token;
  }

  /** The name that a token logs in; a second time, or too late, none. */
  redeem(token: string): string | undefined {
    return this.#names.take(keyOf(token), this.#clock.monotonicMs());
  }
}

function keyOf(token: string): string {
  return hash('sha256', token, 'base64');
}

/** Sessions that an administrator may have at once; one more ends the one unused for longest. */
export const maxSessionsPerAdministrator = 100;

/** How often sessions that are over are looked for, in milliseconds. */
const sweepEveryMs = 5000;

/** A session in force. The ID itself is kept nowhere; `key` is its hash. */
export interface AdministratorSession {
  readonly key: string;
  readonly administrator: Administrator;
  readonly createdMs: number;
}

/** Lifetimes of sessions in milliseconds. */
interface Lifetimes {
  idleMs: number;
  maximumAgeMs: number;
}

interface Kept {
  session: AdministratorSession;
  /** Monotonic. */
  createdMs: number;
  lastUsedMs: number;
}

/** Sessions of administrators, in the memory of this process: a console keeps nothing that outlives it. */
export class AdministratorSessions {
  readonly #clock: Clock;
  readonly #lifetimes: () => Lifetimes;
  readonly #onEnd: (session: AdministratorSession) => void;
  /** The one unused for longest first. */
  readonly #kept = new Map<string, Kept>();
  readonly #sweeper: Timer;

  /**
   * @param lifetimes asked at each look-up, so that a reload takes effect at once
   * @param onEnd told of each session that ended, however it did
   */
  constructor(clock: Clock, lifetimes: () => Lifetimes, onEnd: (session: AdministratorSession) => void) {
    this.#onEnd = onEnd;
    this.#clock = clock;
    this.#lifetimes = lifetimes;
    this.#sweeper = clock.every(sweepEveryMs, () => this.#sweep());
  }

  /** Begins a session. @returns its ID, the only time that it is known */
  create(administrator: Administrator): string {
    const own = [...this.#kept.values()].filter(({ session }) => session.administrator.name === administrator.name);
    if (own.length >= maxSessionsPerAdministrator) this.end((own[0] as Kept).session);
    const id = newSessionId();
    const nowMs = this.#clock.monotonicMs();
    const session = { key: sessionKey(id), administrator, createdMs: this.#clock.nowMs() };
    this.#kept.set(session.key, { session, createdMs: nowMs, lastUsedMs: nowMs });
    return id;
  }

  /** The session of an ID while it is active, and notes the activity; undefined otherwise. */
  find(id: string): AdministratorSession | undefined {
    const kept = this.#kept.get(sessionKey(id));
    if (!kept || this.#endIfOver(kept)) return undefined;
    this.touch(kept.session);
    return kept.session;
  }

  /** Notes activity: a page that listens is in use. @returns whether the session is in force */
  touch({ key }: AdministratorSession): boolean {
    const kept = this.#kept.get(key);
    if (!kept) return false;
    kept.lastUsedMs = this.#clock.monotonicMs();
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return true;
  }

  end(session: AdministratorSession): void {
    if (this.#kept.delete(session.key)) this.#onEnd(session);
  }

  /** Ends the sessions of those who are not administrators any more, or have another password or role. @returns how many */
  keepOnly(administrators: Administrators): number {
    const over = [...this.#kept.values()].filter(({ session }) => !administrators.knows(session.administrator));
    for (const { session } of over) this.end(session);
    return over.length;
  }

  close(): void {
    this.#sweeper.cancel();
  }

  #sweep(): void {
    for (const kept of [...this.#kept.values()]) this.#endIfOver(kept);
  }

  #endIfOver(kept: Kept): boolean {
    const { idleMs, maximumAgeMs } = this.#lifetimes();
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - kept.lastUsedMs <= idleMs && nowMs - kept.createdMs <= maximumAgeMs) return false;
    this.end(kept.session);
    return true;
  }
}
