import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { type FileLock, type LockRequest, type LockStore, maxLocksPerAccount } from '../../files/locks/lock-store.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';

/*
 * `locks` is a hash from token to lock. There are few locks (one for each open document), so each script reads all of them and removes the
 * expired ones. A script is atomic, so two nodes cannot take the same lock.
 */
const alive = `
local function within(path, folder)
  if path == folder then return true end
  local start = folder == '/' and '/' or folder .. '/'
  return string.sub(path, 1, #start) == start
end
local function alive()
  local locks, bad = {}, {}
  local all = redis.call('HGETALL', KEYS[1])
  for index = 1, #all, 2 do
    local isRead, lock = pcall(cjson.decode, all[index + 1])
    local isLock = isRead and type(lock) == 'table' and type(lock.expiresMs) == 'number' and type(lock.path) == 'string' and type(lock.token) == 'string'
    if not isLock then table.insert(bad, all[index])
    elseif lock.expiresMs <= tonumber(ARGV[1]) then redis.call('HDEL', KEYS[1], all[index])
    else table.insert(locks, {lock = lock, text = all[index + 1]}) end
  end
  return locks, bad
end
`;

/** The key expires when no lock has been taken or renewed for this time in milliseconds. No lock lasts nearly as long. */
const keyLifeMs = 86_400_000;

/** KEYS: locks. ARGV: now, lock, maximum per account. Returns the conflicting lock or 'many'; nil on success. */
const takeScript = redisScript(`${alive}
local new = cjson.decode(ARGV[2])
local own = 0
for _, held in ipairs(alive()) do
  local lock = held.lock
  if lock.path == new.path or (lock.isDeep and within(new.path, lock.path)) or (new.isDeep and within(lock.path, new.path)) then return held.text end
  if lock.accountUuid == new.accountUuid then own = own + 1 end
end
if own >= tonumber(ARGV[3]) then return 'many' end
redis.call('HSET', KEYS[1], new.token, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ${keyLifeMs})
return false`);

/** KEYS: locks. ARGV: now, token, new expiry. Returns the lock; nil if it does not exist. */
const refreshScript = redisScript(`${alive}
for _, held in ipairs(alive()) do
  if held.lock.token == ARGV[2] then
    local text = string.gsub(held.text, '"expiresMs":[%d.]+', '"expiresMs":' .. ARGV[3])
    redis.call('HSET', KEYS[1], ARGV[2], text)
    redis.call('PEXPIRE', KEYS[1], ${keyLifeMs})
    return text
  end
end
return false`);

/** KEYS: locks. ARGV: now, token. Returns whether the lock existed. */
const releaseScript = redisScript(`${alive}
alive()
return redis.call('HDEL', KEYS[1], ARGV[2])`);

/** KEYS: locks. ARGV: now, path, 'covering' or 'within'. Returns the matching locks, and the tokens of unreadable ones. */
const listScript = redisScript(`${alive}
local found = {}
local locks, bad = alive()
for _, held in ipairs(locks) do
  local lock = held.lock
  local isIn
  if ARGV[3] == 'covering' then isIn = lock.path == ARGV[2] or (lock.isDeep and within(ARGV[2], lock.path))
  else isIn = within(lock.path, ARGV[2]) end
  if isIn then table.insert(found, held.text) end
end
return {found, bad}`);

const fileLock = z.object({
  token: z.string(),
  path: z.string(),
  isDeep: z.boolean(),
  accountUuid: z.string(),
  takenBy: z.object({ account: z.string(), address: z.string() }).optional(),
  owner: z.object({ text: z.string(), isLink: z.boolean() }).optional(),
  expiresMs: z.number(),
});

/** The locks of all nodes. Expiry times come from the clocks of the nodes, which must not differ by more than a few minutes. */
export class RedisLocks implements LockStore {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #areTaken: () => boolean;
  readonly #key: string;

  /** @param areTaken whether a service of the current configuration uses locks. If not, Redis is not asked before files change */
  constructor(link: RedisLink, clock: Clock, areTaken: () => boolean) {
    this.#link = link;
    this.#clock = clock;
    this.#areTaken = areTaken;
    this.#key = link.key('locks');
  }

  async take(request: LockRequest): Promise<{ taken: FileLock } | { conflict: FileLock }> {
    const { timeoutMs, ...rest } = request;
    const taken: FileLock = { ...rest, token: `opaquelocktoken:${randomUUID()}`, expiresMs: Math.ceil(this.#clock.nowMs() + timeoutMs) };
    const answer = await this.#run(takeScript, JSON.stringify(taken), maxLocksPerAccount);
    if (answer === null) return { taken };
    if (String(answer) === 'many') throw new ServiceError('too-many-requests', `An account may hold at most ${maxLocksPerAccount} locks.`);
    return { conflict: this.#lockOf(answer) ?? taken };
  }

  async refresh(token: string, timeoutMs: number): Promise<FileLock | undefined> {
    const answer = await this.#run(refreshScript, token, Math.ceil(this.#clock.nowMs() + timeoutMs));
    return answer === null ? undefined : this.#lockOf(answer);
  }

  async release(token: string): Promise<boolean> {
    return (await this.#run(releaseScript, token)) === 1;
  }

  // Expired locks stay in the hash until the next script removes them, so this can return false although all locks have expired.
  async isEmpty(): Promise<boolean> {
    return !this.#areTaken() || (await this.#link.call(['EXISTS', this.#key])) === 0;
  }

  async covering(path: string): Promise<FileLock[]> {
    return this.#list(path, 'covering');
  }

  async within(path: string): Promise<FileLock[]> {
    return this.#list(path, 'within');
  }

  async #list(path: string, which: 'covering' | 'within'): Promise<FileLock[]> {
    const [found, bad] = (await this.#run(listScript, path, which)) as [unknown[], unknown[]];
    for (const token of bad) this.#link.values.skip(`${this.#key} ${token}`, 'it is not a lock');
    return found.flatMap((text) => this.#lockOf(text) ?? []);
  }

  /** JSON leaves out an undefined `owner`, so `owner` is set explicitly. */
  #lockOf(text: unknown): FileLock | undefined {
    return this.#link.values.read(this.#key, text, (value) => {
      const { takenBy, owner, ...lock } = fileLock.parse(value);
      return { ...lock, ...(takenBy && { takenBy }), owner };
    });
  }

  #run(script: ReturnType<typeof redisScript>, ...args: (string | number)[]): Promise<unknown> {
    return this.#link.run(script, [this.#key], [Math.floor(this.#clock.nowMs()), ...args]);
  }
}
