import { createHash } from 'node:crypto';

/**
 * The reason why Redis is treated as unavailable if its marker is missing. The marker is a key that svc wrote, and that is lost with the
 * data.
 */
export const dataRemoved = 'its data was removed';

/** The beginning of scripts that need the time. `now` is the time of Redis in milliseconds. */
export const redisNow = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** A Lua script. All of its keys must be in one slot. */
export interface RedisScript {
  readonly text: string;
  readonly sha: string;
  /** Whether the script refuses to run on data that this process does not know, for example after Redis was emptied. */
  readonly checksMarker: boolean;
}

export function redisScript(text: string, isGuarded = false): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex'), checksMarker: isGuarded };
}

/** Creates a script that fails (`unavailable`) as soon as the data is lost, even if no heartbeat has noticed the loss yet. */
export function markerScript(text: string): RedisScript {
  return redisScript(
    `if redis.call('GET', KEYS[#KEYS]) ~= ARGV[#ARGV] then return redis.error_reply('LOST ${dataRemoved}') end\n${text}`,
    true,
  );
}
