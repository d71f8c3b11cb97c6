import { createHash } from 'node:crypto';

/** Reason why Redis counts as unavailable without its marker. */
export const dataRemoved = 'its data was removed';

/** Start of scripts: `now` is the time of Redis in milliseconds. */
export const redisNow = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** A Lua script; all its keys are in one slot. */
export interface RedisScript {
  readonly text: string;
  readonly sha: string;
  /** Whether it refuses to run on data that this process does not know, such as that of an emptied Redis. */
  readonly checksMarker: boolean;
}

export function redisScript(text: string, isGuarded = false): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex'), checksMarker: isGuarded };
}

/** Makes a script that fails (`unavailable`) as soon as the data is gone, before a heartbeat notices. */
export function markerScript(text: string): RedisScript {
  return redisScript(
    `if redis.call('GET', KEYS[#KEYS]) ~= ARGV[#ARGV] then return redis.error_reply('LOST ${dataRemoved}') end\n${text}`,
    true,
  );
}
