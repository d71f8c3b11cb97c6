import type { Identity } from '../../auth/credentials.ts';
import {
  expiryMs,
  heldUntil,
  keptClient,
  type ListedSession,
  maxSessionsPerAccount,
  newSessionId,
  type Session,
  type SessionLifetimes,
  type SessionStore,
  sessionKey,
} from '../../auth/sessions.ts';
import type { Clock } from '../../lib/clock.ts';

interface StoredSession {
  session: Session;
  address: string;
  client: string;
  lastUsedMs: number;
  holds: number;
}

/** The sessions of one process. */
export class MemorySessions implements SessionStore {
  readonly #clock: Clock;
  readonly #lifetimes: () => SessionLifetimes;
  readonly #onTimeout: (session: Session) => void;
  readonly #kept = new Map<string, StoredSession>();
  readonly #ofAccounts = new Map<string, Set<StoredSession>>();
  readonly #sweeper: { cancel(): void };

  /**
   * @param lifetimes called at each use, so that a reload takes effect immediately
   * @param onTimeout called for each session that timed out (event `sessionTimedOut`)
   */
  constructor(clock: Clock, lifetimes: () => SessionLifetimes, onTimeout: (session: Session) => void) {
    this.#clock = clock;
    this.#lifetimes = lifetimes;
    this.#onTimeout = onTimeout;
    this.#sweeper = clock.every(1000, () => this.#sweep());
  }

  async create(identity: Identity, address = '', client?: string): Promise<string> {
    const own = this.#ofAccounts.get(identity.uuid);
    if (own && own.size >= maxSessionsPerAccount) this.#timeOut(longestUnused(own));
    return this.#begin(identity, address, client);
  }

  async createForConnection(identity: Identity, address: string, most: number, client?: string): Promise<string | undefined> {
    return (this.#ofAccounts.get(identity.uuid)?.size ?? 0) < most ? this.#begin(identity, address, client) : undefined;
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
    return heldUntil(() => {
      kept.holds--;
      kept.lastUsedMs = this.#clock.monotonicMs();
    });
  }

  async end(session: Session): Promise<boolean> {
    const kept = this.#kept.get(session.key);
    if (kept) this.#forget(kept);
    return kept !== undefined;
  }

  async endAll(accountUuid: string, except?: Session): Promise<number> {
    let ended = 0;
    for (const kept of [...(this.#ofAccounts.get(accountUuid) ?? [])]) {
      if (kept.session.key === except?.key) continue;
      this.#forget(kept);
      ended++;
    }
    return ended;
  }

  async keepOnly(isInForce: (identity: Identity) => boolean): Promise<number> {
    const over = [...this.#kept.values()].filter(({ session }) => !isInForce(session.identity));
    for (const kept of over) this.#forget(kept);
    return over.length;
  }

  async refuse(session: Session): Promise<void> {
    await this.end(session);
  }

  async renew({ key }: Session, fingerprints: readonly string[]): Promise<void> {
    const { proof } = this.#kept.get(key)?.session.identity ?? {};
    proof?.fingerprints.splice(0, Number.POSITIVE_INFINITY, ...fingerprints);
  }

  async count(): Promise<number> {
    return this.#kept.size;
  }

  async list(): Promise<ListedSession[]> {
    this.#sweep();
    const lifetimes = this.#lifetimes();
    const [nowMs, monotonicMs] = [this.#clock.nowMs(), this.#clock.monotonicMs()];
    return [...this.#kept.values()].map(({ session, address, client, lastUsedMs, holds }) => ({
      key: session.key,
      identity: session.identity,
      address,
      client,
      createdMs: session.createdMs,
      lastUsedMs: holds > 0 ? nowMs : Math.max(session.createdMs, nowMs - monotonicMs + lastUsedMs),
      expiresMs: expiryMs(session.createdMs, holds > 0 ? undefined : lastUsedMs, lifetimes, this.#clock),
    }));
  }

  async endKeys(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const kept = this.#kept.get(key);
      if (kept) this.#forget(kept);
    }
  }

  close(): void {
    this.#sweeper.cancel();
  }

  #begin(identity: Identity, address: string, client?: string): string {
    const id = newSessionId();
    const session: Session = { key: sessionKey(id), identity, createdMs: this.#clock.nowMs() };
    const kept: StoredSession = { session, address, client: keptClient(client), lastUsedMs: this.#clock.monotonicMs(), holds: 0 };
    this.#kept.set(session.key, kept);
    this.#ofAccounts.set(identity.uuid, (this.#ofAccounts.get(identity.uuid) ?? new Set()).add(kept));
    return id;
  }

  #sweep(): void {
    for (const kept of this.#kept.values()) this.#endIfOver(kept);
  }

  #endIfOver(kept: StoredSession): boolean {
    const { idleMs, maximumAgeMs } = this.#lifetimes();
    const isIdle = kept.holds === 0 && this.#clock.monotonicMs() - kept.lastUsedMs > idleMs;
    const isOld = this.#clock.nowMs() - kept.session.createdMs > maximumAgeMs;
    if (!isIdle && !isOld) return false;
    this.#timeOut(kept);
    return true;
  }

  #timeOut(kept: StoredSession): void {
    this.#forget(kept);
    this.#onTimeout(kept.session);
  }

  #forget(kept: StoredSession): void {
    const { key, identity } = kept.session;
    this.#kept.delete(key);
    const own = this.#ofAccounts.get(identity.uuid);
    own?.delete(kept);
    if (own?.size === 0) this.#ofAccounts.delete(identity.uuid);
  }
}

/** Finds the session that has been unused for the longest time. Sessions with a running transfer come last. */
function longestUnused(sessions: ReadonlySet<StoredSession>): StoredSession {
  const rank = ({ holds, lastUsedMs }: StoredSession) => (holds > 0 ? Number.MAX_VALUE : lastUsedMs);
  return [...sessions].reduce((first, second) => (rank(second) < rank(first) ? second : first));
}
