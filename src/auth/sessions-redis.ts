import { type Account, accountOfJson, accountText } from '../accounts/account.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import { dropOldest } from '../lib/expiring-map.ts';
import type { Log } from '../lib/log.ts';
import type { RedisCaller, RedisLink } from '../lib/redis/redis-link.ts';
import type { RedisScript } from '../lib/redis/redis-script.ts';
import { createScript, createWithinScript, endAllScript, endScript, findScript, lookScript, sweepScript } from './session-scripts.ts';
import {
  type ListedSession,
  mostSessionsOfAccount,
  newSessionId,
  type Session,
  type SessionLifetimes,
  type SessionStore,
  sessionKey,
} from './sessions.ts';

/** Accounts of sessions that were met here, so that each request need not carry them anew. */
const mostAccounts = 10_000;

/** Ends that this process repeats to a Redis that lost its data, at most. */
const mostEnded = 100_000;

const sweepEveryMs = 1000;

/** How far the clocks of nodes and Redis may be apart: sessions that began so long after a password change may end with the others. */
const clockToleranceMs = 5000;

/** An order to end the sessions of an account that began until a moment, but for one. */
interface EndAll {
  exceptKey: string;
  untilMs: number;
}

/** Sessions of all nodes. While Redis is away nobody can be let in: `find` throws. */
export class RedisSessions implements SessionStore {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #lifetimes: () => SessionLifetimes;
  readonly #onTimeout: (account: Account) => void;
  readonly #log: Log;
  readonly #base: string;
  readonly #accounts = new Map<string, Account>();
  /** Sessions that were ended here. A Redis killed within a second of that, or a replica that takes over, may have them still. */
  readonly #ended = new Set<string>();
  /** Accounts whose sessions are to end, which Redis has not confirmed. */
  readonly #endingAll = new Map<string, EndAll>();
  readonly #sweeper: Timer;

  /**
   * @param service the file transfer service that the sessions are of
   * @param lifetimes asked at each look-up, so that a reload takes effect at once
   * @param onTimeout told of each session that timed out, by one node alone (event 40015)
   */
  constructor(
    link: RedisLink,
    service: string,
    surroundings: { clock: Clock; log: Log; lifetimes: () => SessionLifetimes; onTimeout: (account: Account) => void },
  ) {
    this.#link = link;
    this.#clock = surroundings.clock;
    this.#log = surroundings.log;
    this.#lifetimes = surroundings.lifetimes;
    this.#onTimeout = surroundings.onTimeout;
    this.#base = `${link.key('web', service)}:`;
    this.#sweeper = this.#clock.every(sweepEveryMs, () => void this.#sweep());
    link.onRecover((caller) => this.#repeat(caller));
  }

  async create(account: Account, address = ''): Promise<string> {
    const id = newSessionId();
    const over = await this.#runCreate(createScript, id, account, address, mostSessionsOfAccount);
    this.#tell(over as string[]);
    return id;
  }

  async createForConnection(account: Account, address: string, most: number): Promise<string | undefined> {
    const id = newSessionId();
    return (await this.#runCreate(createWithinScript, id, account, address, most)) ? id : undefined;
  }

  find(id: string): Promise<Session | undefined> {
    return this.#find(sessionKey(id));
  }

  hold(session: Session): { done(): void } {
    // A failure is told at the next request, if it still matters then.
    const touch = () => void this.#find(session.key).catch(() => {});
    const timer = this.#clock.every(Math.max(this.#lifetimes().idleMs / 3, 100), touch);
    return { done: () => timer.cancel() };
  }

  end(session: Session): Promise<void> {
    return this.endKeys([session.key]);
  }

  async endAll(accountUuid: string, except?: Session): Promise<number> {
    // Until it is done it is to be done: a node that could not reach Redis does it as soon as it can.
    const order: EndAll = { exceptKey: except?.key ?? '', untilMs: Math.ceil(this.#clock.nowMs() + clockToleranceMs) };
    this.#endingAll.set(accountUuid, order);
    const ended = await this.#runEndAll(this.#link, accountUuid, order);
    if (this.#endingAll.get(accountUuid) === order) this.#endingAll.delete(accountUuid);
    return ended;
  }

  async count(): Promise<number> {
    return Number(await this.#link.call(['ZCARD', `${this.#base}sessions`]));
  }

  async list(): Promise<ListedSession[]> {
    // A scan may name a key more than once (redis.io, SCAN), and misses none that is there all the time.
    const found = new Map<string, ListedSession>();
    const { maximumAgeMs } = this.#lifetimes();
    let cursor = '0';
    do {
      const [next, pairs] = (await this.#link.call(['ZSCAN', `${this.#base}sessions`, cursor, 'COUNT', '500'])) as [string, string[]];
      cursor = String(next);
      const keys = pairs.filter((_, index) => index % 2 === 0).map(String);
      const rows = (await this.#link.run(lookScript, [`${this.#base}sessions`], [this.#base, ...keys])) as string[][];
      for (const row of rows) {
        const [key = '', account = '', created, address = '', ends] = row;
        const createdMs = Number(created);
        // A reload may have shortened it.
        const expiresMs = Math.min(Number(ends), createdMs + maximumAgeMs);
        const name = this.#accountOf(key, account)?.name;
        if (name !== undefined) found.set(key, { key, account: name, address, createdMs, expiresMs });
      }
    } while (cursor !== '0');
    return [...found.values()];
  }

  async endKeys(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#noteEnd(key);
    await this.#endInRedis(this.#link, keys);
  }

  close(): void {
    this.#sweeper.cancel();
  }

  #runCreate(script: RedisScript, id: string, account: Account, address: string, most: number): Promise<unknown> {
    const key = sessionKey(id);
    const { idleMs, maximumAgeMs } = this.#lifetimes();
    const keys = [this.#sessionOf(key), `${this.#base}sessions`, `${this.#base}account:${account.uuid}`];
    const lifetimes = [Math.ceil(idleMs), Math.ceil(maximumAgeMs)];
    return this.#link.run(script, keys, [key, accountText(account), account.uuid, ...lifetimes, this.#base, most, address]);
  }

  async #find(key: string): Promise<Session | undefined> {
    if (this.#ended.has(key)) return undefined;
    const known = this.#accounts.get(key);
    const { idleMs, maximumAgeMs } = this.#lifetimes();
    const found = (await this.#link.run(
      findScript,
      [this.#sessionOf(key), `${this.#base}sessions`],
      [key, Math.ceil(idleMs), Math.ceil(maximumAgeMs), known ? '0' : '1'],
    )) as [string, string] | null;
    if (!found || this.#ended.has(key)) {
      this.#accounts.delete(key);
      return undefined;
    }
    const account = known ?? this.#accountOf(key, found[1]);
    return account && { key, account: known ?? this.#keepAccount(key, account), createdMs: Number(found[0]) };
  }

  #accountOf(key: string, text: string): Account | undefined {
    return this.#link.values.read(this.#sessionOf(key), text, accountOfJson);
  }

  #tell(over: readonly string[]): void {
    for (const text of over) {
      const account = this.#link.values.read(`${this.#base}session:`, text, accountOfJson);
      if (account) this.#onTimeout(account);
    }
  }

  #keepAccount(key: string, account: Account): Account {
    this.#accounts.set(key, account);
    dropOldest(this.#accounts, mostAccounts);
    return account;
  }

  #noteEnd(key: string): void {
    this.#accounts.delete(key);
    this.#ended.add(key);
    dropOldest(this.#ended, mostEnded);
  }

  async #runEndAll(caller: Pick<RedisCaller, 'run'>, accountUuid: string, { exceptKey, untilMs }: EndAll): Promise<number> {
    const keys = [`${this.#base}sessions`, `${this.#base}account:${accountUuid}`];
    const ended = (await caller.run(endAllScript, keys, [this.#base, exceptKey, untilMs])) as string[];
    for (const key of ended) this.#noteEnd(key);
    return ended.length;
  }

  async #repeat(caller: RedisCaller): Promise<void> {
    for (const [accountUuid, order] of this.#endingAll) {
      await this.#runEndAll(caller, accountUuid, order);
      this.#endingAll.delete(accountUuid);
    }
    await this.#endInRedis(caller, [...this.#ended]);
  }

  async #endInRedis(caller: Pick<RedisCaller, 'run'>, keys: readonly string[]): Promise<void> {
    for (let index = 0; index < keys.length; index += 1000)
      await caller.run(endScript, [`${this.#base}sessions`], [this.#base, ...keys.slice(index, index + 1000)]);
  }

  async #sweep(): Promise<void> {
    if (!this.#link.isReady) return;
    try {
      this.#tell((await this.#link.run(sweepScript, [`${this.#base}sessions`], [this.#base])) as string[]);
    } catch (error) {
      this.#log.debug('sessions that timed out could not be looked for', { reason: error });
    }
  }

  #sessionOf(key: string): string {
    return `${this.#base}session:${key}`;
  }
}
