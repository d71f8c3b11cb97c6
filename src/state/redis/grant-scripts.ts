import { markerScript, redisScript } from '../../lib/redis/redis-script.ts';

/*
 * `grants` has the JSON of each grant by its ID, without counters. `grant-sequence` numbers the changes, and `grant-changes` orders the IDs
 * by the number of their last change: a node reads the grants that changed after the last number that it knows.
 * `grant-counts` has the downloads and visits by ID; `grant-uses` has the time and address of the last use by ID.
 * `grant-visit:<ID> <source>` expires an hour after a visit that was counted.
 */

/** KEYS sequence. Returns the number of the last change. Fails if Redis was emptied or replaced since this process last checked. */
export const sequenceScript = markerScript(`return redis.call('GET', KEYS[1]) or '0'`);

const put = `
local function put(id, json)
  local sequence = redis.call('INCR', KEYS[3])
  redis.call('HSET', KEYS[1], id, json)
  redis.call('ZADD', KEYS[2], sequence, id)
  return sequence
end
`;

/**
 * KEYS grants, changes, sequence; ARGV ID, JSON, the number of the last change that the caller knows. Returns 0 if there were later
 * changes.
 */
export const addScript = markerScript(`${put}
if (redis.call('GET', KEYS[3]) or '0') ~= ARGV[3] then return 0 end
return put(ARGV[1], ARGV[2])`);

/**
 * KEYS grants, changes, sequence; ARGV for each grant its ID, the JSON of its `end` or '', and its expiry or ''. If a grant has already
 * ended, its `end` stays; an expiry can only become earlier. Returns the IDs of the grants that this call ended.
 */
export const endScript = markerScript(`${put}
local ended = {}
for index = 1, #ARGV - 1, 3 do
  local text = redis.call('HGET', KEYS[1], ARGV[index])
  if text then
    local grant = cjson.decode(text)
    if ARGV[index + 1] ~= '' and not grant['end'] then
      -- The encoder of Lua makes an object of an empty list: the text is extended instead.
      put(ARGV[index], string.sub(text, 1, -2) .. ',"end":' .. ARGV[index + 1] .. '}')
      table.insert(ended, ARGV[index])
    elseif ARGV[index + 2] ~= '' and tonumber(ARGV[index + 2]) < grant['expiresMs'] then
      put(ARGV[index], string.sub(text, 1, -2) .. ',"expiresMs":' .. ARGV[index + 2] .. '}')
    end
  end
end
return ended`);

/** KEYS grants, changes, sequence; ARGV ID and JSON of each grant. Used only for recovery, by a node that has merged them with Redis. */
export const restoreScript = redisScript(`${put}
for index = 1, #ARGV, 2 do put(ARGV[index], ARGV[index + 1]) end`);

/** KEYS grants, changes, sequence; ARGV number. Returns the later changes as pairs of ID and JSON, then the number to continue from. */
export const changesScript = markerScript(`
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

/** KEYS counts, grants; ARGV ID, maximum. Returns the new count of downloads, or 0 at the maximum and for an unknown grant. */
export const countScript = markerScript(`
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return 0 end
local field = ARGV[1] .. ':downloads'
local count = tonumber(redis.call('HGET', KEYS[1], field) or '0')
if count >= tonumber(ARGV[2]) then return 0 end
return redis.call('HINCRBY', KEYS[1], field, 1)`);

/**
 * KEYS counts, grants, visit; ARGV ID, ms. Returns the new count of visits, or 0 for a visit that was counted before and for an unknown
 * grant; and the milliseconds until the next one counts.
 */
export const visitScript = markerScript(`
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return {0, 0} end
if redis.call('SET', KEYS[3], '', 'NX', 'PX', ARGV[2]) then
  return {redis.call('HINCRBY', KEYS[1], ARGV[1] .. ':opened', 1), ARGV[2]}
end
return {0, redis.call('PTTL', KEYS[3])}`);

/** KEYS counts, uses; ARGV field and count of each counter, '', then ID and value of each use. Keeps larger counts, and existing uses. */
export const restoreCountsScript = redisScript(`
local index = 1
while ARGV[index] ~= '' do
  if tonumber(redis.call('HGET', KEYS[1], ARGV[index]) or '0') < tonumber(ARGV[index + 1]) then
    redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1])
  end
  index = index + 2
end
for use = index + 1, #ARGV - 1, 2 do redis.call('HSETNX', KEYS[2], ARGV[use], ARGV[use + 1]) end`);

/** KEYS grants, changes, counts, uses; ARGV IDs of the grants to remove. */
export const forgetScript = redisScript(`
for _, id in ipairs(ARGV) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
  redis.call('HDEL', KEYS[3], id .. ':downloads', id .. ':opened')
  redis.call('HDEL', KEYS[4], id)
end`);
