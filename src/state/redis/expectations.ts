import type { ExpectationStore } from '../../expectations/watch.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';
import { holdLease } from './certificates.ts';

/** Time in milliseconds after which another node takes over the reports of a dead one. */
const leaseMs = 10_000;

// Removes expectations that are not in ARGV, and records the time for new ones.
const sinceScript = redisScript(`
local wanted = {}
for index = 2, #ARGV do
  wanted[ARGV[index]] = true
  redis.call('HSETNX', KEYS[1], ARGV[index], ARGV[1])
end
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if not wanted[name] then redis.call('HDEL', KEYS[1], name) end
end
return redis.call('HGETALL', KEYS[1])`);

const inForceScript = redisScript(`return redis.call('HGETALL', KEYS[1])`);

/**
 * Stores the start of each expectation's watch, and chooses the node that reports states.
 *
 * @param node unique to this process
 */
export function redisExpectations(link: RedisLink, node: string): ExpectationStore {
  return {
    isTeller: () => holdLease(link, 'expectations-teller', node, leaseMs),
    since: async (uuids, nowMs) => parseTimes((await link.run(sinceScript, [link.key('expectations')], [nowMs, ...uuids])) as string[]),
    inForce: async () => parseTimes((await link.run(inForceScript, [link.key('expectations')], [])) as string[]),
  };
}

/** Values that are not numbers are left out. @param pairs fields and values alternately */
function parseTimes(pairs: readonly string[]): Map<string, number> {
  const times = new Map<string, number>();
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    const time = Number(pairs[index + 1]);
    if (Number.isFinite(time)) times.set(String(pairs[index]), time);
  }
  return times;
}
