import { hash, randomBytes } from 'node:crypto';
import type { Account } from '../accounts/account.ts';
import type { Clock } from '../lib/clock.ts';

/** Bits of a session ID: 256 (decisions.md 4). */
const idBytes = 32;

/** A session in force. The ID itself is kept nowhere; `key` is its hash. */
export interface Session {
  readonly key: string;
  readonly account: Account;
  readonly createdMs: number;
}

/** Lifetimes of sessions in milliseconds (decisions.md, "session IDs"). */
export interface SessionLifetimes {
  idleMs: number;
  maximumAgeMs: number;
}

/** Where sessions live. Implementations: memory here, Redis for many nodes. */
export interface SessionStore {
  /** Begins a session and returns its ID, the only time that the ID is known to the service. */
  create(account: Account): Promise<string>;
  /** The session of an ID when it still lives, and notes the activity; undefined otherwise. */
  find(id: string): Promise<Session | undefined> | Session | undefined;
  /** Marks a session as busy with a transfer, which counts as activity until `done`. */
  hold(session: Session): { done(): void };
  end(session: Session): Promise<void>;
  /** Ends all sessions of an account (by UUID), but for one. @returns how many ended */
  endAll(accountUuid: string, except?: Session): Promise<number>;
  /** Sessions that live at present, for figures. */
  count(): Promise<number>;
  close(): void;
}

interface Kept {
  session: Session;
  lastUsedMs: number;
  holds: number;
}

/** The hash under which a session is kept: whoever reads the store cannot use it. */
export function sessionKey(id: string): string {
  return hash('sha256', id, 'base64url');
}

/** A fresh session ID. */
export function newSessionId(): string {
  return randomBytes(idBytes).toString('base64url');
}

/** Sessions of one process. */
export class MemorySessions implements SessionStore {
  readonly #clock: Clock;
  readonly #lifetimes: () => SessionLifetimes;
  readonly #onTimeout: (session: Session) => void;
  readonly #kept = new Map<string, Kept>();
  readonly #sweeper: { cancel(): void };

  /**
   * @param lifetimes asked at each look-up, so that a reload takes effect at once
   * @param onTimeout told of each session that timed out (event 40015)
   */
  constructor(clock: Clock, lifetimes: () => SessionLifetimes, onTimeout: (session: Session) => void) {
    this.#clock = clock;
    this.#lifetimes = lifetimes;
    this.#onTimeout = onTimeout;
    this.#sweeper = clock.every(1000, () => this.#sweep());
  }

  async create(account: Account): Promise<string> {
    const id = newSessionId();
    const session: Session = { key: sessionKey(id), account, createdMs: this.#clock.nowMs() };
    this.#kept.set(session.key, { session, lastUsedMs: this.#clock.monotonicMs(), holds: 0 });
    return id;
  }

  find(id: string): Session | undefined {
    const kept = this.#kept.get(sessionKey(id));
    if (!kept || this.#endIfOver(kept)) return undefined;
    kept.lastUsedMs = this.#clock.monotonicMs();
    return kept.session;
  }

  hold(session: Session): { done(): void } {
    const kept = this.#kept.get(session.key);
    if (!kept) return { done() {} };
    kept.holds++;
    let isHeld = true;
    return {
      done: () => {
        if (!isHeld) return;
        isHeld = false;
        kept.holds--;
        kept.lastUsedMs = this.#clock.monotonicMs();
      },
    };
  }

  async end(session: Session): Promise<void> {
    this.#kept.delete(session.key);
  }

  async endAll(accountUuid: string, except?: Session): Promise<number> {
    let ended = 0;
    for (const { session } of this.#kept.values()) {
      if (session.account.uuid !== accountUuid || session.key === except?.key) continue;
      this.#kept.delete(session.key);
      ended++;
    }
    return ended;
  }

  async count(): Promise<number> {
    return this.#kept.size;
  }

  close(): void {
    this.#sweeper.cancel();
  }

  #sweep(): void {
    for (const kept of this.#kept.values()) this.#endIfOver(kept);
  }

  #endIfOver(kept: Kept): boolean {
    const { idleMs, maximumAgeMs } = this.#lifetimes();
    const isIdle = kept.holds === 0 && this.#clock.monotonicMs() - kept.lastUsedMs > idleMs;
    const isOld = this.#clock.nowMs() - kept.session.createdMs > maximumAgeMs;
    if (!isIdle && !isOld) return false;
    this.#kept.delete(kept.session.key);
    this.#onTimeout(kept.session);
    return true;
  }
}
