import { createHash } from 'node:crypto';

/** Why Redis counts as away when its marker is gone. */
export const dataRemoved = 'its data was removed';

/** Begin of scripts: `now` is the time of Redis in milliseconds. */
export const redisNow = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** A Lua script; all its keys are of one slot. */
export interface RedisScript {
  readonly text: string;
  readonly sha: string;
  /** It does nothing on data that is not what this process knows: a Redis that was emptied would say that there is nothing. */
  readonly checksMarker: boolean;
}

/** Makes a script. */
export function redisScript(text: string, isGuarded = false): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex'), checksMarker: isGuarded };
}

/** Makes a script that fails (`unavailable`) from the moment that the data is gone, not only once that was noticed. */
export function markerScript(text: string): RedisScript {
  return redisScript(
    `if redis.call('GET', KEYS[#KEYS]) ~= ARGV[#ARGV] then return redis.error_reply('LOST ${dataRemoved}') end\n${text}`,
    true,
  );
}
