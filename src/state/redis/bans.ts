import { createHash } from 'node:crypto';
import {
  type AddressBans,
  type Admission,
  type AttemptOutcome,
  acceptedSources,
  type Ban,
  foldedName,
  type ListedBan,
  type LoginAttempt,
  maxAcceptedPerSource,
  nameFailures,
  namesSomebody,
  type Refusal,
  refusalFor,
  refused,
  type SecurityPolicy,
} from '../../auth/ban-list.ts';
import { acceptedKey, newAcceptedKey } from '../../auth/callout-cache.ts';
import type { Clock } from '../../lib/clock.ts';
import { dropOldest } from '../../lib/expiring-map.ts';
import type { RedisCaller, RedisLink } from '../../lib/redis/redis-link.ts';
import { markerScript, redisNow, redisScript } from '../../lib/redis/redis-script.ts';

/*
 * `ban:<source>` expires with the ban. Its value is the time (ms) at which the ban began, and the number of failures. Bans of older versions
 * have the value 1. `limited-name:<hash of the folded name>` contains the folded name (`foldedName`), and expires a minute after the last
 * failure. The other keys are sorted sets. The score of a member is the time (ms) at which the member expires.
 * - For a source: failed credentials, credentials being checked (both as `<hash of the name>:<credential>`), and accepted credentials.
 * - For a name: failed credentials, credentials being checked, and the sources that logged in successfully.
 */
const prepare = `${redisNow}
local ban, failed, underWay, accepted = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nameFailed, nameUnderWay, acceptedFrom, limitedName = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local source, name, credential, isNamed = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local function has(key, member)
  local ends = redis.call('ZSCORE', key, member)
  return ends and tonumber(ends) > now
end
local function count(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  return redis.call('ZCARD', key)
end
local function add(key, member, ms)
  redis.call('ZADD', key, now + ms, member)
  if redis.call('PTTL', key) < tonumber(ms) then redis.call('PEXPIRE', key, ms) end
end
local function addNew(key, member, ms)
  if not has(key, member) then add(key, member, ms) end
end
local function keepNewest(key, most)
  redis.call('ZREMRANGEBYRANK', key, 0, -1 - most)
end
`;

/**
 * ARGV: source, name, credential, whether the username is not empty, limit of failures, lease in ms, whether the attempt may take one of
 * the source's slots for running attempts. Returns the decision, and the remaining ms of a ban or refusal.
 */
const beginScript = markerScript(`${prepare}
local banned = redis.call('PTTL', ban)
if banned > 0 then return {'banned', banned, redis.call('GET', ban)} end
if has(accepted, credential) then return {'known', 0} end
local isCountedForName = has(nameFailed, credential) or has(nameUnderWay, credential)
if isNamed and not isCountedForName and not has(acceptedFrom, source) and count(nameFailed) + count(nameUnderWay) >= ${nameFailures.most} then
  local first = redis.call('ZRANGE', nameFailed, 0, 0, 'WITHSCORES')
  return {'refused', first[2] and tonumber(first[2]) - now or 0}
end
local member = name .. ':' .. credential
if not has(failed, member) and not has(underWay, member) then
  if ARGV[7] == '0' or count(failed) + count(underWay) >= tonumber(ARGV[5]) then return {'busy', 0} end
  add(underWay, member, ARGV[6])
end
if isNamed and not isCountedForName then add(nameUnderWay, credential, ARGV[6]) end
return {'admitted', 0}`);

/**
 * ARGV: source, name, credential, whether the username is not empty, outcome, limit of failures, ban in ms, window in ms, folded name.
 * Returns the value of the ban if the source is now banned, otherwise 0.
 */
const endScript = markerScript(`${prepare}
local member = name .. ':' .. credential
redis.call('ZREM', underWay, member)
redis.call('ZREM', nameUnderWay, credential)
if ARGV[5] == 'failed' then
  redis.call('ZREM', accepted, credential)
  if isNamed then
    addNew(nameFailed, credential, ${nameFailures.windowMs})
    if count(nameFailed) >= ${nameFailures.most} then redis.call('SET', limitedName, ARGV[9], 'PX', ${nameFailures.windowMs}) end
  end
  addNew(failed, member, ARGV[8])
  local failures = count(failed)
  if failures < tonumber(ARGV[6]) then return 0 end
  local value = string.format('%.0f %d', now, failures)
  redis.call('SET', ban, value, 'PX', ARGV[7])
  redis.call('DEL', failed)
  return value
end
if ARGV[5] == 'succeeded' then
  for _, other in ipairs(redis.call('ZRANGE', failed, 0, -1)) do
    if string.sub(other, 1, #name + 1) == name .. ':' then redis.call('ZREM', failed, other) end
  end
  add(accepted, credential, ARGV[8])
  keepNewest(accepted, ${maxAcceptedPerSource})
  if isNamed then
    add(acceptedFrom, source, ${acceptedSources.lifetimeMs})
    keepNewest(acceptedFrom, ${acceptedSources.most})
  end
end
return 0`);

/** KEYS: the ban. Returns the remaining ms of the ban, and its value. */
const banScript = markerScript(`return {redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[1])}`);

/** KEYS: bans. Returns for each ban the remaining ms, the ms since the ban began, and the number of failures; -1 if unknown. */
const timesScript = redisScript(`${redisNow}
local times = {}
for index, key in ipairs(KEYS) do
  local began, failures = string.match(redis.call('GET', key) or '', '^(%d+) (%d+)$')
  times[index] = {redis.call('PTTL', key), began and math.max(now - began, 0) or -1, tonumber(failures or -1)}
end
return times`);

/**
 * KEYS: for each name, the sorted set of its failures. Returns the same values as `timesScript` for each name; the remaining ms are 0 if
 * the name is not limited.
 */
const nameTimesScript = redisScript(`${redisNow}
local times = {}
for index, key in ipairs(KEYS) do
  local ends = redis.call('ZRANGEBYSCORE', key, '(' .. now, '+inf', 'WITHSCORES')
  local reached = tonumber(ends[${2 * nameFailures.most}])
  times[index] = reached and {tonumber(ends[2]) - now, now - (reached - ${nameFailures.windowMs}), #ends / 2} or {0, -1, -1}
end
return times`);

/** Maximum number of bans that this process remembers, to restore them when Redis loses its data. */
const maxRemembered = 10_000;

/**
 * Stores the failed attempts and bans of all nodes (docs/spec/authentication.md#brute-force). While Redis is unreachable, nobody can log
 * in.
 */
export class RedisBans implements AddressBans {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #policy: () => SecurityPolicy;
  readonly #key: string | Buffer;
  /** Bans that this process imposed or saw. If Redis is emptied, or is killed within a second after a ban, it loses the ban. */
  readonly #known = new Map<string, { untilMs: number; value: string }>();

  /**
   * @param policy called for each attempt, so that a reload takes effect immediately
   * @param secret HMAC key for credentials. If it is empty, each node creates its own key, and a wrong credential counts once on each node
   */
  constructor(link: RedisLink, clock: Clock, policy: () => SecurityPolicy, secret = '') {
    this.#link = link;
    this.#clock = clock;
    this.#policy = policy;
    this.#key = secret === '' ? newAcceptedKey() : secret;
    link.onRecover((caller) => this.#repeat(caller));
  }

  keyFor(text: string): string {
    return acceptedKey(this.#key, text);
  }

  async isRefused(source: string): Promise<Refusal | undefined> {
    if (this.#policy().ban_after_failures === 0 && this.#known.size === 0) return undefined;
    const [leftMs, value] = (await this.#link.run(banScript, [this.#banKey(source)], [])) as [number, string | null];
    this.#remember(source, leftMs, value);
    return refusalFor(leftMs);
  }

  async begin(attempt: LoginAttempt, leaseMs: number, isInLine: boolean): Promise<Admission> {
    const { ban_after_failures } = this.#policy();
    if (ban_after_failures === 0) return { kind: 'admitted', isKnown: false };
    const [kind, leftMs, value] = (await this.#link.run(beginScript, this.#attemptKeys(attempt), [
      ...this.#attemptNames(attempt),
      ban_after_failures,
      Math.max(Math.ceil(leaseMs), 1),
      isInLine ? 1 : 0,
    ])) as [string, number, string?];
    switch (kind) {
      case 'banned':
        this.#remember(attempt.source, leftMs, value);
        return refused('address', leftMs);
      case 'refused':
        return refused('name', leftMs);
      case 'busy':
        return { kind };
      default:
        return { kind: 'admitted', isKnown: kind === 'known' };
    }
  }

  async end(attempt: LoginAttempt, outcome: AttemptOutcome): Promise<void> {
    const { ban_after_failures, ban_seconds, ban_window_seconds } = this.#policy();
    if (ban_after_failures === 0) return;
    const banMs = Math.ceil(ban_seconds * 1000);
    const value = await this.#link.run(endScript, this.#attemptKeys(attempt), [
      ...this.#attemptNames(attempt),
      outcome,
      ban_after_failures,
      banMs,
      Math.ceil(ban_window_seconds * 1000),
      foldedName(attempt.username),
    ]);
    if (typeof value === 'string') this.#remember(attempt.source, banMs, value);
  }

  async list(): Promise<ListedBan[]> {
    const listed: ListedBan[] = [];
    for await (const [keys, sources] of this.#scan('ban')) {
      const times = (await this.#link.run(timesScript, keys, [])) as Times[];
      for (const [index, of] of sources.entries()) listed.push(listedBan('address', of, times[index]));
    }
    for await (const [keys, hashes] of this.#scan('limited-name')) {
      const names = (await this.#link.call(['MGET', ...keys])) as (string | null)[];
      const failures = hashes.map((name) => this.#link.key('name-failed', name));
      const times = (await this.#link.run(nameTimesScript, failures, [])) as Times[];
      for (const [index, of] of names.entries()) if (of !== null) listed.push(listedBan('name', of, times[index]));
    }
    return listed.filter(({ leftMs }) => leftMs > 0);
  }

  async lift(bans: readonly Ban[]): Promise<void> {
    const keys = bans.flatMap(({ by, of }) => {
      if (by === 'name') return ['name-failed', 'limited-name'].map((kind) => this.#link.key(kind, hashed(of)));
      this.#known.delete(of);
      return [this.#banKey(of), this.#link.key('failed', of)];
    });
    for (let index = 0; index < keys.length; index += 1000) await this.#link.call(['DEL', ...keys.slice(index, index + 1000)]);
  }

  /** Yields the keys of a kind in pages, with the part of each key after the kind. */
  async *#scan(kind: string): AsyncGenerator<[keys: string[], rests: string[]]> {
    const begin = this.#link.key(kind, '');
    const pattern = `${begin.replace(/[\\*?[\]]/g, '\\$&')}*`;
    // A scan may return a key more than once, but returns every key that exists during the whole scan (redis.io, SCAN).
    const met = new Set<string>();
    let cursor = '0';
    do {
      const [next, found] = (await this.#link.call(['SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000'])) as [string, string[]];
      cursor = String(next);
      const keys = [...new Set(found.map(String))].filter((key) => !met.has(key));
      for (const key of keys) met.add(key);
      if (keys.length > 0) yield [keys, keys.map((key) => key.slice(begin.length))];
    } while (cursor !== '0');
  }

  async #repeat(caller: RedisCaller): Promise<void> {
    for (const [source, { untilMs, value }] of this.#known) {
      const leftMs = Math.ceil(untilMs - this.#clock.monotonicMs());
      if (leftMs > 0) await caller.call(['SET', this.#banKey(source), value, 'PX', String(leftMs), 'NX']);
      else this.#known.delete(source);
    }
  }

  #remember(source: string, leftMs: number, value: string | null | undefined): void {
    this.#known.delete(source);
    if (leftMs <= 0) return;
    this.#known.set(source, { untilMs: this.#clock.monotonicMs() + leftMs, value: value ?? '1' });
    dropOldest(this.#known, maxRemembered);
  }

  #banKey(source: string): string {
    return this.#link.key('ban', source);
  }

  #attemptNames({ source, username, credential }: LoginAttempt): string[] {
    return [source, hashed(username), credential, namesSomebody(username) ? '1' : '0'];
  }

  #attemptKeys({ source, username }: LoginAttempt): string[] {
    const folded = hashed(foldedName(username));
    return [
      this.#banKey(source),
      ...['failed', 'under-way', 'accepted-of'].map((kind) => this.#link.key(kind, source)),
      ...['name-failed', 'name-under-way'].map((kind) => this.#link.key(kind, folded)),
      this.#link.key('accepted-from', hashed(username)),
      this.#link.key('limited-name', folded),
    ];
  }
}

/** Remaining ms of a ban, ms since the ban began, and number of failures. The last two are -1 if they are unknown. */
type Times = readonly [leftMs: number, ageMs: number, failures: number];

function listedBan(by: Ban['by'], of: string, [leftMs, ageMs, failures]: Times = [0, -1, -1]): ListedBan {
  return { by, of, leftMs, ageMs: ageMs < 0 ? undefined : ageMs, failures: failures < 0 ? undefined : failures };
}

/** Hashes a name for use in a Redis key, because a name can have any length and any characters. */
function hashed(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}
