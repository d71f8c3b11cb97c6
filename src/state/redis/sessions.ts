import { type Identity, parseIdentity } from '../../auth/credentials.ts';
import {
  keptClient,
  type ListedSession,
  maxSessionsPerAccount,
  newSessionId,
  type Session,
  type SessionLifetimes,
  type SessionStore,
  sessionKey,
} from '../../auth/sessions.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { dropOldest } from '../../lib/expiring-map.ts';
import type { Log } from '../../lib/log.ts';
import type { RedisCaller, RedisLink } from '../../lib/redis/redis-link.ts';
import type { RedisScript } from '../../lib/redis/redis-script.ts';
import {
  createScript,
  createWithinScript,
  endAllScript,
  endScript,
  findScript,
  readScript,
  refuseScript,
  renewScript,
  sweepScript,
} from './session-scripts.ts';

/** Maximum number of logins that are kept in memory, so that requests need not fetch them from Redis. */
const maxLogins = 10_000;

/** Maximum number of ended sessions that are remembered, so that they can be ended again when Redis loses data. */
const maxEnded = 100_000;

const sweepEveryMs = 1000;

/**
 * Tolerated clock difference in milliseconds. A session that begins within this time after a password change can also be ended by that
 * change.
 */
const clockToleranceMs = 5000;

/** A request to end sessions of an account: all that began at or before `untilMs` (Unix time), except for the session `exceptKey`. */
interface EndAll {
  exceptKey: string;
  untilMs: number;
}

interface Seen {
  key: string;
  identity: Identity;
  fingerprints: string;
  createdMs: number;
  address: string;
  client: string;
  usedMs: number;
  endsMs: number;
}

/** The sessions of all nodes. While Redis is unreachable, nobody can log in, and `find` throws. */
export class RedisSessions implements SessionStore {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #lifetimes: () => SessionLifetimes;
  readonly #onTimeout: (identity: Identity) => void;
  readonly #log: Log;
  readonly #base: string;
  readonly #logins = new Map<string, Identity>();
  /** Sessions that this node ended. Redis may still have them if it was killed within a second after that, or if a replica took over. */
  readonly #ended = new Set<string>();
  /** Requests to end all sessions of an account, by account UUID. Each is kept until Redis confirms it. */
  readonly #endingAll = new Map<string, EndAll>();
  readonly #sweeper: Timer;

  /**
   * @param service the file transfer service of the sessions
   * @param lifetimes called at each lookup, so that a reload takes effect immediately
   * @param onTimeout called for each session that timed out (event `sessionTimedOut`), on only one of the nodes
   */
  constructor(
    link: RedisLink,
    service: string,
    dependencies: { clock: Clock; log: Log; lifetimes: () => SessionLifetimes; onTimeout: (identity: Identity) => void },
  ) {
    this.#link = link;
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
    this.#lifetimes = dependencies.lifetimes;
    this.#onTimeout = dependencies.onTimeout;
    this.#base = `${link.key('logins', service)}:`;
    this.#sweeper = this.#clock.every(sweepEveryMs, () => void this.#sweep());
    link.onRecover((caller) => this.#repeat(caller));
  }

  async create(identity: Identity, address = '', client?: string): Promise<string> {
    const id = newSessionId();
    const over = await this.#runCreate(createScript, id, identity, { address, client }, maxSessionsPerAccount);
    this.#announce(over as string[]);
    return id;
  }

  async createForConnection(identity: Identity, address: string, most: number, client?: string): Promise<string | undefined> {
    const id = newSessionId();
    return (await this.#runCreate(createWithinScript, id, identity, { address, client }, most)) ? id : undefined;
  }

  find(id: string): Promise<Session | undefined> {
    return this.#find(sessionKey(id));
  }

  hold(session: Session): { done(): void } {
    const touchLater = (): Timer =>
      this.#clock.after(Math.max(this.#lifetimes().idleMs / 3, 100), () => {
        // The error is ignored here, because the next request of the session reports it.
        this.#find(session.key, true).catch(() => {});
        timer = touchLater();
      });
    let timer = touchLater();
    return { done: () => timer.cancel() };
  }

  async end({ key }: Session): Promise<boolean> {
    this.#markEnded(key);
    return (await this.#endInRedis(this.#link, [key])) > 0;
  }

  async endAll(accountUuid: string, except?: Session): Promise<number> {
    // The request is kept until Redis confirms it. If Redis is unreachable, the node repeats it after the reconnect.
    const order: EndAll = { exceptKey: except?.key ?? '', untilMs: Math.ceil(this.#clock.nowMs() + clockToleranceMs) };
    this.#endingAll.set(accountUuid, order);
    const ended = await this.#runEndAll(this.#link, accountUuid, order);
    if (this.#endingAll.get(accountUuid) === order) this.#endingAll.delete(accountUuid);
    return ended;
  }

  async keepOnly(isInForce: (identity: Identity) => boolean): Promise<number> {
    let ended = 0;
    for await (const seen of this.#scan()) {
      // Other nodes may have renewed the fingerprints, and running requests must see the new ones.
      for (const { key, fingerprints } of seen) this.#refresh(key, fingerprints);
      ended += await this.#refuse(seen.filter(({ identity }) => !isInForce(identity)));
    }
    return ended;
  }

  async refuse({ key, identity }: Session): Promise<void> {
    await this.#refuse([{ key, fingerprints: fingerprintsText(identity) }]);
  }

  async renew({ key, identity }: Session, fingerprints: readonly string[]): Promise<void> {
    const text = fingerprints.join(' ');
    await this.#link.run(renewScript, [this.#sessionKey(key)], [text]);
    renewIn(identity, text);
    this.#refresh(key, text);
  }

  async count(): Promise<number> {
    return Number(await this.#link.call(['ZCARD', `${this.#base}sessions`]));
  }

  async list(): Promise<ListedSession[]> {
    // A scan may return a key more than once (redis.io, SCAN).
    const found = new Map<string, ListedSession>();
    const { maximumAgeMs } = this.#lifetimes();
    // `endsMs` may lie beyond the maximum age, because a reload may have shortened the maximum age.
    for await (const seen of this.#scan())
      for (const { key, identity, address, client, createdMs, usedMs, endsMs } of seen) {
        const expiresMs = Math.min(endsMs, createdMs + maximumAgeMs);
        found.set(key, { key, identity, address, client, createdMs, lastUsedMs: usedMs, expiresMs });
      }
    return [...found.values()];
  }

  async endKeys(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#markEnded(key);
    await this.#endInRedis(this.#link, keys);
  }

  close(): void {
    this.#sweeper.cancel();
  }

  #runCreate(
    script: RedisScript,
    id: string,
    identity: Identity,
    { address, client }: { address: string; client: string | undefined },
    most: number,
  ): Promise<unknown> {
    const key = sessionKey(id);
    const { idleMs, maximumAgeMs } = this.#lifetimes();
    const { uuid } = identity;
    const keys = [this.#sessionKey(key), `${this.#base}sessions`, `${this.#base}account:${uuid}`];
    const lifetimes = [Math.ceil(idleMs), Math.ceil(maximumAgeMs)];
    const login = [key, loginText(identity), uuid];
    const about = [address, fingerprintsText(identity), keptClient(client)];
    return this.#link.run(script, keys, [...login, ...lifetimes, this.#base, most, ...about]);
  }

  async #find(key: string, isBusy = false): Promise<Session | undefined> {
    if (this.#ended.has(key)) return undefined;
    const known = this.#logins.get(key);
    const { idleMs, maximumAgeMs } = this.#lifetimes();
    const found = (await this.#link.run(
      findScript,
      [this.#sessionKey(key), `${this.#base}sessions`],
      [key, Math.ceil(idleMs), Math.ceil(maximumAgeMs), known ? '0' : '1', isBusy ? '1' : '0'],
    )) as [string, string, string] | null;
    if (!found || this.#ended.has(key)) {
      this.#logins.delete(key);
      return undefined;
    }
    const [created, login, fingerprints] = found;
    const identity = known ?? this.#keepLogin(key, this.#readIdentity(key, login));
    if (!identity) return undefined;
    renewIn(identity, fingerprints);
    return { key, identity, createdMs: Number(created) };
  }

  #readIdentity(key: string, login: string): Identity | undefined {
    return this.#link.values.read(this.#sessionKey(key), login, parseIdentity);
  }

  #announce(over: readonly string[]): void {
    for (const text of over) {
      const identity = this.#link.values.read(`${this.#base}session:`, text, parseIdentity);
      if (identity) this.#onTimeout(identity);
    }
  }

  #keepLogin(key: string, identity: Identity | undefined): Identity | undefined {
    // All requests of one session share one identity object.
    const kept = this.#logins.get(key) ?? identity;
    if (!kept) return undefined;
    this.#logins.set(key, kept);
    dropOldest(this.#logins, maxLogins);
    return kept;
  }

  #refresh(key: string, fingerprints: string): void {
    const known = this.#logins.get(key);
    if (known) renewIn(known, fingerprints);
  }

  /** Yields the active sessions in pages. A session can appear twice. */
  async *#scan(): AsyncGenerator<Seen[]> {
    let cursor = '0';
    do {
      const [next, pairs] = (await this.#link.call(['ZSCAN', `${this.#base}sessions`, cursor, 'COUNT', '500'])) as [string, string[]];
      cursor = String(next);
      const keys = pairs.filter((_, index) => index % 2 === 0).map(String);
      const rows = (await this.#link.run(readScript, [`${this.#base}sessions`], [this.#base, ...keys])) as string[][];
      yield rows.flatMap(([key = '', login = '', created, address = '', ends, fingerprints = '', client = '', used]) => {
        const identity = this.#readIdentity(key, login);
        if (!identity) return [];
        renewIn(identity, fingerprints);
        const times = { createdMs: Number(created), usedMs: Number(used || created), endsMs: Number(ends) };
        return [{ key, identity, fingerprints, address, client, ...times }];
      });
    } while (cursor !== '0');
  }

  async #refuse(seen: readonly Pick<Seen, 'key' | 'fingerprints'>[]): Promise<number> {
    if (seen.length === 0) return 0;
    const pairs = seen.flatMap(({ key, fingerprints }) => [key, fingerprints]);
    const ended = (await this.#link.run(refuseScript, [`${this.#base}sessions`], [this.#base, ...pairs])) as string[];
    for (const key of ended) this.#markEnded(key);
    return ended.length;
  }

  #markEnded(key: string): void {
    this.#logins.delete(key);
    this.#ended.add(key);
    dropOldest(this.#ended, maxEnded);
  }

  async #runEndAll(caller: Pick<RedisCaller, 'run'>, accountUuid: string, { exceptKey, untilMs }: EndAll): Promise<number> {
    const keys = [`${this.#base}sessions`, `${this.#base}account:${accountUuid}`];
    const ended = (await caller.run(endAllScript, keys, [this.#base, exceptKey, untilMs])) as string[];
    for (const key of ended) this.#markEnded(key);
    return ended.length;
  }

  async #repeat(caller: RedisCaller): Promise<void> {
    for (const [accountUuid, order] of this.#endingAll) {
      await this.#runEndAll(caller, accountUuid, order);
      this.#endingAll.delete(accountUuid);
    }
    await this.#endInRedis(caller, [...this.#ended]);
  }

  async #endInRedis(caller: Pick<RedisCaller, 'run'>, keys: readonly string[]): Promise<number> {
    let ended = 0;
    for (let index = 0; index < keys.length; index += 1000)
      ended += Number(await caller.run(endScript, [`${this.#base}sessions`], [this.#base, ...keys.slice(index, index + 1000)]));
    return ended;
  }

  async #sweep(): Promise<void> {
    if (!this.#link.isReady) return;
    try {
      this.#announce((await this.#link.run(sweepScript, [`${this.#base}sessions`], [this.#base])) as string[]);
    } catch (error) {
      this.#log.debug('timed-out sessions could not be searched for', { reason: error });
    }
  }

  #sessionKey(key: string): string {
    return `${this.#base}session:${key}`;
  }
}

/** Serialises a login without its fingerprints, which change and are stored separately. */
function loginText({ proof, ...others }: Identity): string {
  return JSON.stringify({ ...others, ...(proof && { proof: { type: proof.type, fingerprints: [] } }) });
}

function fingerprintsText({ proof }: Identity): string {
  return proof?.fingerprints.join(' ') ?? '';
}

function renewIn(identity: Identity, fingerprints: string): void {
  if (identity.proof && fingerprintsText(identity) !== fingerprints)
    identity.proof.fingerprints.splice(0, Number.POSITIVE_INFINITY, ...fingerprints.split(' '));
}
