import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { redisNow, redisScript } from '../../lib/redis/redis-script.ts';

/** If a node stops without removing its report, the report is kept for this time in milliseconds. */
const reportsKeptMs = 600_000;

const maxReports = 100;

const maxWaiting = 100;

/**
 * KEYS: reports, times. ARGV: node, report, ms that reports are kept. Also removes reports with a time in the future, because the clock may
 * have been set back.
 */
const tellScript = redisScript(`${redisNow}
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], now, ARGV[1])
for _, range in ipairs({ { '-inf', now - ARGV[3] }, { now + 1, '+inf' } }) do
  for _, node in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], range[1], range[2], 'LIMIT', 0, ${maxReports})) do
    redis.call('HDEL', KEYS[1], node)
    redis.call('ZREM', KEYS[2], node)
  end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[3]) end`);

/**
 * KEYS: reports, times. ARGV: maximum bytes, ms that reports are kept. Returns a flat list with three items for each node: its name, the
 * age of its report in milliseconds, and the report. The latest report comes first. A report that is too long is returned as an empty text.
 */
const readScript = redisScript(`${redisNow}
local found = {}
local times = redis.call('ZREVRANGEBYSCORE', KEYS[2], now, now - ARGV[2], 'WITHSCORES', 'LIMIT', 0, ${maxReports})
for index = 1, #times, 2 do
  local node = times[index]
  local isFit = redis.call('HSTRLEN', KEYS[1], node) <= tonumber(ARGV[1])
  table.insert(found, node)
  table.insert(found, tostring(now - times[index + 1]))
  table.insert(found, isFit and redis.call('HGET', KEYS[1], node) or '')
end
return found`);

/** KEYS: reports, times. ARGV: node. Removes the report of the node. */
const leaveScript = redisScript(`
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])`);

/** KEYS: list. ARGV: message, ms. Adds the message if there is room. */
const putScript = redisScript(`
if redis.call('LLEN', KEYS[1]) >= ${maxWaiting} then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`);

/**
 * KEYS: list. ARGV: maximum bytes. Removes and returns the first message, if any. A message that is too long is returned as an empty text.
 */
const takeScript = redisScript(`
local message = redis.call('LPOP', KEYS[1])
return message and #message > tonumber(ARGV[1]) and '' or message`);

/**
 * Transfers messages between nodes: one report of each node, and a queue for each reader. While Redis is unreachable, all methods throw
 * ServiceError `unavailable`.
 */
export class RedisNodeTexts {
  readonly #link: RedisLink;
  readonly #reports: string[];

  constructor(link: RedisLink) {
    this.#link = link;
    this.#reports = [link.key('node-reports'), link.key('node-times')];
  }

  /** The reason why Redis is unreachable; empty if it can be used. */
  get silence(): string {
    const check = this.#link.check();
    return check === true ? '' : check;
  }

  async tell(node: string, report: string): Promise<void> {
    await this.#link.run(tellScript, this.#reports, [node, report, reportsKeptMs]);
  }

  async read(maxBytes: number): Promise<{ node: string; ageMs: number; report: string }[]> {
    const found = (await this.#link.run(readScript, this.#reports, [maxBytes, reportsKeptMs])) as string[];
    return found.flatMap((node, at) => (at % 3 === 0 ? { node, ageMs: Number(found[at + 1]), report: found[at + 2] ?? '' } : []));
  }

  async leave(node: string): Promise<void> {
    await this.#link.run(leaveScript, this.#reports, [node]);
  }

  async put(box: readonly [string, string], message: string, keptMs: number): Promise<void> {
    await this.#link.run(putScript, [this.#link.key(...box)], [message, keptMs]);
  }

  async take(box: readonly [string, string], maxBytes: number): Promise<string | undefined> {
    return ((await this.#link.run(takeScript, [this.#link.key(...box)], [maxBytes])) as string | null) ?? undefined;
  }
}
