import { createHash } from 'node:crypto';

/** The reason while the marker is missing. svc wrote this key, which is lost with the data. */
export const dataRemoved = 'its data was removed';

/** `now` is the time of Redis in milliseconds. */
export const redisNow = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** All of its keys must be in one slot. */
export interface RedisScript {
  readonly text: string;
  readonly sha: string;
  /** Whether the script refuses to run on unknown data, for example after Redis was emptied. */
  readonly checksMarker: boolean;
}

export function redisScript(text: string, isGuarded = false): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex'), checksMarker: isGuarded };
}

/** Creates a script that fails (`unavailable`) as soon as the data is lost. */
export function markerScript(text: string): RedisScript {
  return redisScript(
    `if redis.call('GET', KEYS[#KEYS]) ~= ARGV[#ARGV] then return redis.error_reply('LOST ${dataRemoved}') end\n${text}`,
    true,
  );
}
