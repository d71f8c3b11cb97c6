import type { ExpectationStore } from '../../expectations/watch.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';
import { holdLease } from './certificates.ts';

/** If the node that reports the states of expectations dies, another node takes over after this time, in milliseconds. */
const leaseMs = 10_000;

// Removes the expectations that ARGV does not name, and records the current time for new ones.
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
 * Stores when the watch of each expectation began, and chooses the node that reports the states of expectations.
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

/** Parses the times in a hash, by field. Values that are not numbers are left out. @param pairs fields and values alternately */
function parseTimes(pairs: readonly string[]): Map<string, number> {
  const times = new Map<string, number>();
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    const time = Number(pairs[index + 1]);
    if (Number.isFinite(time)) times.set(String(pairs[index]), time);
  }
  return times;
}
