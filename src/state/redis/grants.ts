import {
  type Grant,
  type GrantEnd,
  isForgettable,
  type LinkChange,
  mergeGrants,
  parseGrant,
  revisedGrant,
} from '../../auth/grants/grant.ts';
import { type GrantStore, maxVisits, useRecordedEveryMs, visitCountedEveryMs } from '../../auth/grants/grant-store.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { SharedRuns } from '../../lib/concurrency/shared-runs.ts';
import { ServiceError } from '../../lib/errors.ts';
import { ExpiringMap } from '../../lib/expiring-map.ts';
import type { Log } from '../../lib/log.ts';
import type { RedisCaller, RedisLink } from '../../lib/redis/redis-link.ts';
import { markerScript, redisScript } from '../../lib/redis/redis-script.ts';
import type { FileGrants } from '../memory/grants.ts';

/**
 * Interval in milliseconds at which a node reads other nodes' changes. The transfers of an ended grant are therefore cut within a second.
 */
const followEveryMs = 300;

const forgetEveryMs = 3_600_000;

/** Maximum number of grants that one command reads or writes. */
const pageGrants = 500;

/** Maximum number of attempts to add or revise a grant while other nodes change grants, too. */
const addAttempts = 50;

/**
 * The grants (tokens and shared links) of all nodes. Redis decides which grants are valid, but only the copy in each node's data folder is
 * durable. If Redis loses data, the nodes restore their grants before they use Redis again, so that no ended grant becomes valid again.
 * While Redis is unreachable, no grant is accepted.
 */
export class RedisGrants implements GrantStore {
  readonly #link: RedisLink;
  readonly #local: FileGrants;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #timers: Timer[];
  readonly #following = new SharedRuns(() => this.#followNow());
  /**
   * Visits that Redis has already counted, each kept until another visit by the same visitor would count. Meanwhile Redis is not asked
   * about them again.
   */
  readonly #visits = new ExpiringMap<true>(maxVisits);
  /** Number of the last change that this node's copy contains. */
  #sequence = '0';

  /** @param local this node's own copy of the grants, which is closed together with the store */
  constructor(link: RedisLink, local: FileGrants, { clock, log }: { clock: Clock; log: Log }) {
    this.#link = link;
    this.#local = local;
    this.#clock = clock;
    this.#log = log;
    this.#timers = [clock.every(followEveryMs, () => this.#followQuietly()), clock.every(forgetEveryMs, () => void this.#forget())];
    link.onRecover((caller) => this.#recover(caller));
  }

  async add(grant: Grant, maximum: number): Promise<void> {
    for (let attempt = 0; attempt < addAttempts; attempt++) {
      await this.#refresh();
      this.#local.requireRoom(grant, maximum);
      const added = await this.#link.run(addScript, this.#keys(), [grant.id, JSON.stringify(grant), this.#sequence]);
      if (Number(added) === 0) continue;
      await this.#local.put([grant]).catch(async (error) => {
        // Nobody has received the secret of the grant yet, so the grant can be ended.
        await this.end([grant.id], 'revoked', grant.madeBy).catch(() => {});
        throw error;
      });
      return;
    }
    throw new ServiceError('unavailable', 'Too many tokens and links are created at the same time. Try again.');
  }

  async find(hash: string): Promise<Grant | undefined> {
    await this.#refresh();
    return this.#local.find(hash);
  }

  get(id: string): Grant | undefined {
    return this.#local.get(id);
  }

  known(): Iterable<Grant> {
    return this.#local.known();
  }

  async list(accountUuid?: string): Promise<Grant[]> {
    await this.#refresh();
    const grants = await this.#local.list(accountUuid);
    const listed: Grant[] = [];
    for (let start = 0; start < grants.length; start += pageGrants)
      listed.push(...(await this.#withCounts(grants.slice(start, start + pageGrants))));
    return listed;
  }

  async end(ids: readonly string[], reason: GrantEnd, by: string): Promise<Grant[]> {
    // While Redis is unreachable, a node ends the grants that it knows. It updates Redis after the reconnect.
    await this.#refresh().catch(() => {});
    await this.#local.end(ids, reason, by);
    const ended: Grant[] = [];
    for (let start = 0; start < ids.length; start += pageGrants) {
      const page = ids.slice(start, start + pageGrants).flatMap((id) => [id, JSON.stringify(this.#local.get(id)?.end ?? ''), '']);
      const now = (await this.#link.run(endScript, this.#keys(), page)) as string[];
      ended.push(...now.flatMap((id) => this.#local.get(String(id)) ?? []));
    }
    return ended;
  }

  async shorten(id: string, expiresMs: number): Promise<void> {
    await this.#local.shorten(id, expiresMs);
    await this.#link.run(endScript, this.#keys(), [id, '', expiresMs]);
  }

  async revise(id: string, change: (grant: Grant) => LinkChange): Promise<Grant | undefined> {
    for (let attempt = 0; attempt < addAttempts; attempt++) {
      await this.#refresh();
      const revised = revisedGrant(this.#local.get(id), change);
      if (!revised) return undefined;
      const args = [id, JSON.stringify(withoutCounters(revised)), this.#sequence];
      if (Number(await this.#link.run(addScript, this.#keys(), args)) === 0) continue;
      await this.#local.put([revised]);
      return this.#local.get(id);
    }
    throw new ServiceError('unavailable', 'Too many tokens and links are changed at the same time. Try again.');
  }

  use(grant: Grant, address: string): void {
    const before = this.#local.get(grant.id)?.used?.atMs ?? 0;
    this.#local.use(grant, address);
    const nowMs = Math.round(this.#clock.nowMs());
    if (nowMs - before < useRecordedEveryMs) return;
    this.#link
      .call(['HSET', this.#link.key('grant-uses'), grant.id, `${nowMs} ${address}`])
      .catch((reason) => this.#log.debug('the use of a token could not be recorded in Redis', { reason }));
  }

  async countDownload(id: string, maximum = Number.MAX_SAFE_INTEGER): Promise<boolean> {
    const keys = [this.#link.key('grant-counts'), this.#link.key('grants')];
    const downloads = Number(await this.#link.run(countScript, keys, [id, maximum]));
    if (downloads === 0) return false;
    await this.#local.put([{ id, downloads }]);
    return true;
  }

  async countVisit(id: string, visitor: string): Promise<boolean> {
    const name = `${id} ${visitor}`;
    if (this.#visits.has(name, this.#clock.monotonicMs())) return false;
    const keys = [this.#link.key('grant-counts'), this.#link.key('grants'), this.#link.key('grant-visit', name)];
    const reply = (await this.#link.run(visitScript, keys, [id, visitCountedEveryMs])) as unknown[];
    const [opened = 0, restMs = 0] = reply.map(Number);
    this.#visits.set(name, true, this.#clock.monotonicMs() + restMs);
    if (opened === 0) return false;
    await this.#local.put([{ id, opened }]);
    return true;
  }

  onEnded(listener: (grants: readonly Grant[]) => void): void {
    this.#local.onEnded(listener);
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    await this.#following.run().catch(() => {});
    await this.#local.close();
  }

  #keys(): string[] {
    return ['grants', 'grant-changes', 'grant-sequence'].map((name) => this.#link.key(name));
  }

  /** Reads the changes that other nodes made. @throws ServiceError `unavailable` */
  async #refresh(): Promise<void> {
    const last = String(await this.#link.run(sequenceScript, [this.#link.key('grant-sequence')], []));
    if (last !== this.#sequence) await this.#following.run();
  }

  async #followQuietly(): Promise<void> {
    if (!this.#link.isReady) return;
    await this.#refresh().catch((reason) => this.#log.debug('changes of tokens and links could not be read', { reason }));
  }

  async #followNow(): Promise<void> {
    for (;;) {
      const found = ((await this.#link.run(changesScript, this.#keys(), [this.#sequence])) as string[]).map(String);
      const last = found.pop() ?? this.#sequence;
      const known = found.flatMap((id, index) => (index % 2 === 0 ? (this.#read(id, found[index + 1]) ?? []) : []));
      const news = known.filter((grant) => this.#differs(grant));
      if (news.length > 0) await this.#local.put(news);
      if (last === this.#sequence) return;
      this.#sequence = last;
    }
  }

  #read(id: string, json: unknown): Grant | undefined {
    return this.#link.values.read(`${this.#link.key('grants')} ${id}`, json, parseGrant);
  }

  #differs(grant: Grant): boolean {
    const known = this.#local.get(grant.id);
    return !known || differ(known, grant);
  }

  async #withCounts(grants: readonly Grant[]): Promise<Grant[]> {
    if (grants.length === 0) return [];
    const fields = grants.flatMap(({ id }) => [`${id}:downloads`, `${id}:opened`]);
    const counts = (await this.#link.call(['HMGET', this.#link.key('grant-counts'), ...fields])) as (string | null)[];
    const uses = (await this.#link.call(['HMGET', this.#link.key('grant-uses'), ...grants.map(({ id }) => id)])) as (string | null)[];
    return grants.map((grant, index) => {
      const [atMs, address = ''] = String(uses[index] ?? '').split(' ');
      const used = atMs ? { used: { atMs: Number(atMs), address } } : {};
      const [downloads, opened] = [Number(counts[2 * index] ?? 0), Number(counts[2 * index + 1] ?? 0)];
      return mergeGrants(grant, { ...grant, ...used, downloads, opened });
    });
  }

  // Compares all grants, because a replica that became primary may lack the last changes.
  async #recover(caller: RedisCaller): Promise<void> {
    const [grantsKey = ''] = this.#keys();
    const own = [...this.#local.index.all()];
    for (let start = 0; start < own.length; start += pageGrants) {
      const page = own.slice(start, start + pageGrants);
      const texts = (await caller.call(['HMGET', grantsKey, ...page.map(({ id }) => id)])) as (string | null)[];
      const lacking = page.flatMap((grant, index) => {
        const there = texts[index] == null ? undefined : this.#read(grant.id, texts[index]);
        const merged = there ? mergeGrants(there, grant) : grant;
        return there && !differ(there, merged) ? [] : [grant.id, JSON.stringify(withoutCounters(merged))];
      });
      if (lacking.length > 0) await caller.run(restoreScript, this.#keys(), lacking);
      const counts = page.flatMap(({ id, downloads, opened }) => [
        ...(downloads ? [`${id}:downloads`, downloads] : []),
        ...(opened ? [`${id}:opened`, opened] : []),
      ]);
      const uses = page.flatMap(({ id, used }) => (used ? [id, `${used.atMs} ${used.address}`] : []));
      const counters = [this.#link.key('grant-counts'), this.#link.key('grant-uses')];
      if (counts.length + uses.length > 0) await caller.run(restoreCountsScript, counters, [...counts, '', ...uses]);
    }
    // All changes are read again, because an emptied Redis numbers its changes from the start.
    this.#sequence = '0';
  }

  async #forget(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const over = [...this.#local.index.all()].filter((grant) => isForgettable(grant, nowMs)).map(({ id }) => id);
    const keys = ['grants', 'grant-changes', 'grant-counts', 'grant-uses'].map((name) => this.#link.key(name));
    try {
      for (let start = 0; start < over.length; start += pageGrants)
        await this.#link.run(forgetScript, keys, over.slice(start, start + pageGrants));
    } catch (reason) {
      this.#log.debug('old tokens and links could not be forgotten', { reason });
    }
  }
}

/** Returns whether two copies of a grant differ, apart from their counters. */
function differ(first: Grant, second: Grant): boolean {
  return first.end?.atMs !== second.end?.atMs || first.expiresMs !== second.expiresMs || first.revision !== second.revision;
}

function withoutCounters({
  used: _used,
  downloads: _downloads,
  opened: _opened,
  ...grant
}: Grant): Omit<Grant, 'used' | 'downloads' | 'opened'> {
  return grant;
}

/*
 * `grants` has the JSON of each grant by its ID, without counters. `grant-sequence` numbers the changes, and `grant-changes` orders the IDs
 * by the number of their last change. A node reads the grants that changed after the last number that it knows.
 * `grant-counts` has the downloads and visits by ID; `grant-uses` has the time and address of the last use by ID.
 * `grant-visit:<ID> <visitor>` expires an hour after a visit that was counted.
 */

/** KEYS: sequence. Returns the number of the last change. Fails if Redis was emptied or replaced since this process last checked. */
const sequenceScript = markerScript(`return redis.call('GET', KEYS[1]) or '0'`);

const put = `
local function put(id, json)
  local sequence = redis.call('INCR', KEYS[3])
  redis.call('HSET', KEYS[1], id, json)
  redis.call('ZADD', KEYS[2], sequence, id)
  return sequence
end
`;

/**
 * KEYS: grants, changes, sequence. ARGV: ID, JSON, the number of the last change that the caller knows. If there were later changes, adds
 * nothing and returns 0.
 */
export const addScript = markerScript(`${put}
if (redis.call('GET', KEYS[3]) or '0') ~= ARGV[3] then return 0 end
return put(ARGV[1], ARGV[2])`);

/**
 * KEYS: grants, changes, sequence. ARGV: for each grant its ID, the JSON of its `end` or '', and its expiry or ''. If a grant has already
 * ended, its `end` stays. An expiry can only become earlier. Returns the IDs of the grants that this call ended.
 */
export const endScript = markerScript(`${put}
local ended = {}
for index = 1, #ARGV - 1, 3 do
  local text = redis.call('HGET', KEYS[1], ARGV[index])
  if text then
    local grant = cjson.decode(text)
    if ARGV[index + 1] ~= '' and not grant['end'] then
      -- The text is extended, not encoded again, because the encoder of Lua would make an object of an empty list.
      put(ARGV[index], string.sub(text, 1, -2) .. ',"end":' .. ARGV[index + 1] .. '}')
      table.insert(ended, ARGV[index])
    elseif ARGV[index + 2] ~= '' and tonumber(ARGV[index + 2]) < grant['expiresMs'] then
      put(ARGV[index], string.sub(text, 1, -2) .. ',"expiresMs":' .. ARGV[index + 2] .. '}')
    end
  end
end
return ended`);

/**
 * KEYS: grants, changes, sequence. ARGV: ID and JSON of each grant. Used for recovery, after the node has merged its grants with those in
 * Redis.
 */
export const restoreScript = redisScript(`${put}
for index = 1, #ARGV, 2 do put(ARGV[index], ARGV[index + 1]) end`);

/** KEYS: grants, changes, sequence. ARGV: number. Returns the later changes as pairs of ID and JSON, then the number to continue from. */
const changesScript = markerScript(`
local found = {}
local last = ARGV[1]
local changes = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, 500)
for index = 1, #changes, 2 do
  local json = redis.call('HGET', KEYS[1], changes[index])
  if json then
    table.insert(found, changes[index])
    table.insert(found, json)
  end
  last = changes[index + 1]
end
if #changes < 1000 then last = redis.call('GET', KEYS[3]) or '0' end
table.insert(found, last)
return found`);

/** KEYS: counts, grants. ARGV: ID, maximum. Returns the new count of downloads, or 0 if the maximum is reached or the grant is unknown. */
const countScript = markerScript(`
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return 0 end
local field = ARGV[1] .. ':downloads'
local count = tonumber(redis.call('HGET', KEYS[1], field) or '0')
if count >= tonumber(ARGV[2]) then return 0 end
return redis.call('HINCRBY', KEYS[1], field, 1)`);

/**
 * KEYS: counts, grants, visit. ARGV: ID, ms. Returns the new count of visits, or 0 if the visit was counted before or the grant is unknown.
 * Also returns the milliseconds until the next visit counts.
 */
const visitScript = markerScript(`
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return {0, 0} end
if redis.call('SET', KEYS[3], '', 'NX', 'PX', ARGV[2]) then
  return {redis.call('HINCRBY', KEYS[1], ARGV[1] .. ':opened', 1), ARGV[2]}
end
return {0, redis.call('PTTL', KEYS[3])}`);

/** KEYS: counts, uses. ARGV: field and count of each counter, '', then ID and value of each use. Keeps larger counts and existing uses. */
const restoreCountsScript = redisScript(`
local index = 1
while ARGV[index] ~= '' do
  if tonumber(redis.call('HGET', KEYS[1], ARGV[index]) or '0') < tonumber(ARGV[index + 1]) then
    redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1])
  end
  index = index + 2
end
for use = index + 1, #ARGV - 1, 2 do redis.call('HSETNX', KEYS[2], ARGV[use], ARGV[use + 1]) end`);

/** KEYS: grants, changes, counts, uses. ARGV: IDs of the grants to remove. */
const forgetScript = redisScript(`
for _, id in ipairs(ARGV) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
  redis.call('HDEL', KEYS[3], id .. ':downloads', id .. ':opened')
  redis.call('HDEL', KEYS[4], id)
end`);
