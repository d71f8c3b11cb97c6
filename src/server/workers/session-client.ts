import { type Account, accountOfText, accountText } from '../../accounts/account.ts';
import {
  heldUntil,
  type ListedSession,
  newSessionId,
  type Session,
  type SessionLifetimes,
  type SessionStore,
  sessionKey,
} from '../../auth/sessions.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { SessionUse, ToPrimary } from './protocol.ts';

/** How often the primary process is told of the use of sessions. */
const tellEveryMs = 500;

interface Kept {
  readonly session: Session;
  /** Monotonic. */
  lastUsedMs: number;
  holds: number;
  /** Whether the primary process has still to be told. */
  isNews: boolean;
}

/** A question to the primary process that has no answer yet. */
interface Asked {
  answer: Promise<Session | undefined>;
  /** The session was ended after the primary process answered, and before the answer was taken in. */
  isEnded: boolean;
}

/**
 * The sessions of one service, in a worker. Those that it has asked for are cached, and answered from the cache while they are certain to
 * be active; the primary process invalidates them when they end.
 */
export class SessionClient implements SessionStore {
  readonly #primary: ToPrimary;
  readonly #service: string;
  readonly #clock: Clock;
  readonly #lifetimes: () => SessionLifetimes;
  readonly #kept = new Map<string, Kept>();
  readonly #asked = new Map<string, Asked>();
  readonly #teller: Timer;
  #news: Kept[] = [];

  constructor(primary: ToPrimary, service: string, clock: Clock, lifetimes: () => SessionLifetimes) {
    this.#primary = primary;
    this.#service = service;
    this.#clock = clock;
    this.#lifetimes = lifetimes;
    this.#teller = clock.every(tellEveryMs, () => this.#tell());
  }

  async create(account: Account, address = ''): Promise<string> {
    return (await this.#create(account, address)) as string;
  }

  createForConnection(account: Account, address: string, most: number): Promise<string | undefined> {
    return this.#create(account, address, most);
  }

  find(id: string): Promise<Session | undefined> | Session | undefined {
    const key = sessionKey(id);
    const kept = this.#kept.get(key);
    if (!kept || !this.#isSurelyActive(kept)) return this.#ask(key);
    this.#use(kept);
    return kept.session;
  }

  hold(session: Session): { done(): void } {
    const kept = this.#kept.get(session.key);
    if (!kept) return { done() {} };
    kept.holds++;
    this.#note(kept);
    return heldUntil(() => {
      kept.holds--;
      this.#use(kept);
    });
  }

  async end({ key }: Session): Promise<void> {
    this.forget([key]);
    await this.#primary.call('endSession', this.#service, key);
  }

  endAll(accountUuid: string, except?: Session): Promise<number> {
    return this.#primary.call('endSessions', this.#service, accountUuid, except?.key);
  }

  count(): Promise<number> {
    return this.#primary.call('countSessions', this.#service);
  }

  list(): Promise<ListedSession[]> {
    return this.#primary.call('listSessions', this.#service);
  }

  endKeys(keys: readonly string[]): Promise<void> {
    return this.#primary.call('endSessionKeys', this.#service, keys);
  }

  close(): void {
    this.#teller.cancel();
    this.#tell();
  }

  /** Sessions that ended. */
  forget(keys: readonly string[]): void {
    for (const key of keys) {
      this.#kept.delete(key);
      const asked = this.#asked.get(key);
      if (asked) asked.isEnded = true;
    }
  }

  /** What the primary process does not know yet of these sessions. */
  report(keys: readonly string[]): SessionUse[] {
    return keys.flatMap((key) => {
      const kept = this.#kept.get(key);
      return kept ? [useOf(kept)] : [];
    });
  }

  async #create(account: Account, address: string, most?: number): Promise<string | undefined> {
    const id = newSessionId();
    const key = sessionKey(id);
    const asked: Asked = { answer: Promise.resolve(undefined), isEnded: false };
    this.#asked.set(key, asked);
    try {
      const createdMs = await this.#primary.call('createSession', this.#service, key, accountText(account), address, most);
      if (createdMs === undefined) return undefined;
      if (!asked.isEnded) this.#keep({ key, account, createdMs });
    } finally {
      this.#asked.delete(key);
    }
    return id;
  }

  /** Another worker may have seen a later use, so only "yes" is certain. */
  #isSurelyActive({ session, lastUsedMs, holds }: Kept): boolean {
    const { idleMs, maximumAgeMs } = this.#lifetimes();
    return (holds > 0 || this.#clock.monotonicMs() - lastUsedMs <= idleMs) && this.#clock.nowMs() - session.createdMs <= maximumAgeMs;
  }

  #ask(key: string): Promise<Session | undefined> {
    const running = this.#asked.get(key);
    if (running) return running.answer;
    const asked: Asked = { answer: this.#answerOf(key), isEnded: false };
    this.#asked.set(key, asked);
    return asked.answer;
  }

  async #answerOf(key: string): Promise<Session | undefined> {
    try {
      const record = await this.#primary.call('findSession', this.#service, key);
      if (!record || this.#asked.get(key)?.isEnded) {
        this.#kept.delete(key);
        return undefined;
      }
      const known = this.#kept.get(key);
      if (!known) return this.#keep({ key, account: accountOfText(record.account), createdMs: record.createdMs });
      this.#use(known);
      return known.session;
    } finally {
      this.#asked.delete(key);
    }
  }

  #keep(session: Session): Session {
    this.#kept.set(session.key, { session, lastUsedMs: this.#clock.monotonicMs(), holds: 0, isNews: false });
    return session;
  }

  #use(kept: Kept): void {
    kept.lastUsedMs = this.#clock.monotonicMs();
    this.#note(kept);
  }

  #note(kept: Kept): void {
    if (kept.isNews) return;
    kept.isNews = true;
    this.#news.push(kept);
  }

  #tell(): void {
    if (this.#news.length === 0) return;
    const news = this.#news;
    this.#news = [];
    for (const kept of news) kept.isNews = false;
    this.#primary.tell('useSessions', this.#service, news.map(useOf));
  }
}

function useOf({ session, lastUsedMs, holds }: Kept): SessionUse {
  return [session.key, lastUsedMs, holds];
}
