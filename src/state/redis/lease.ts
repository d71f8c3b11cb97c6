import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';

const leaseScript = redisScript(`
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`);

/**
 * Takes or extends the lease of a task that one node does for all nodes. Two nodes may do the task for a moment, so this must be harmless.
 *
 * @param node unique to this process
 * @returns whether this node has the lease for the next `leaseMs`
 * @throws ServiceError `unavailable`
 */
export async function holdLease(link: RedisLink, name: string, node: string, leaseMs: number): Promise<boolean> {
  return (await link.run(leaseScript, [link.key(name)], [node, leaseMs])) === 1;
}
