import { redisNow, redisScript } from '../../lib/redis/redis-script.ts';

/*
 * `session:<key>` is a hash with the login, the account UUID, the fingerprints, and the times of login and last use. `sessions` orders the
 * keys by expiry, which decides whether a session is active. `account:<uuid>` has the keys of one account. The hash is kept for a while
 * after the session has expired, because the node that removes the session reads the account from the hash.
 */
const keptAfterEndMs = 3_600_000;

const forget = `
local function forget(base, key)
  local uuid = redis.call('HGET', base .. 'session:' .. key, 'uuid')
  local ended = redis.call('DEL', base .. 'session:' .. key)
  redis.call('ZREM', base .. 'sessions', key)
  if uuid then redis.call('SREM', base .. 'account:' .. uuid, key) end
  return ended
end
`;

const begin = `
redis.call('HSET', KEYS[1], 'login', ARGV[2], 'uuid', ARGV[3], 'created', now, 'used', now, 'address', ARGV[8], 'fingerprints', ARGV[9],
  'client', ARGV[10])
redis.call('ZADD', KEYS[2], now + math.min(ARGV[4], ARGV[5]), ARGV[1])
redis.call('SADD', KEYS[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.min(ARGV[4], ARGV[5]) + ${keptAfterEndMs})
for index = 2, 3 do redis.call('PEXPIRE', KEYS[index], ARGV[5] + ${keptAfterEndMs}) end
`;

/**
 * KEYS: session, sessions, account. ARGV: key, login, account UUID, idle ms, maximum age ms, prefix of the keys, maximum number of sessions
 * of the account, address, fingerprints, client. If the account already has its maximum, the sessions that expire first are ended to make
 * room. Returns the logins of ended sessions.
 */
export const createScript = redisScript(`${redisNow}${forget}
local over = {}
while redis.call('SCARD', KEYS[3]) >= tonumber(ARGV[7]) do
  local first, firstEnds
  for _, key in ipairs(redis.call('SMEMBERS', KEYS[3])) do
    local ends = tonumber(redis.call('ZSCORE', KEYS[2], key) or 0)
    if not first or ends < firstEnds then first, firstEnds = key, ends end
  end
  local login = redis.call('HGET', ARGV[6] .. 'session:' .. first, 'login')
  if login then table.insert(over, login) end
  forget(ARGV[6], first)
  redis.call('SREM', KEYS[3], first)
end
${begin}
return over`);

/**
 * Takes the same keys and arguments as `createScript`. Returns 0 if the account already has its maximum of active sessions, otherwise 1.
 */
export const createWithinScript = redisScript(`${redisNow}
local most = tonumber(ARGV[7])
if redis.call('SCARD', KEYS[3]) >= most then
  local active = 0
  for _, key in ipairs(redis.call('SMEMBERS', KEYS[3])) do
    if tonumber(redis.call('ZSCORE', KEYS[2], key) or 0) > now then active = active + 1 end
  end
  if active >= most then return 0 end
end
${begin}
return 1`);

/**
 * KEYS: session, sessions. ARGV: key, idle ms, maximum age ms, whether to return the login, whether a running transfer keeps the session
 * alive. Records the use of the session. Returns its start time, login and fingerprints; false if the session is over.
 */
export const findScript = redisScript(`${redisNow}
local ends = redis.call('ZSCORE', KEYS[2], ARGV[1])
local kept = redis.call('HMGET', KEYS[1], 'created', 'used', 'fingerprints')
local created = tonumber(kept[1] or '')
if not ends or not created or tonumber(ends) <= now then return false end
local last = created + ARGV[3]
local isIdle = ARGV[5] == '0' and now - (tonumber(kept[2] or '') or created) > tonumber(ARGV[2])
if last <= now or isIdle then
  redis.call('ZADD', KEYS[2], now, ARGV[1])
  return false
end
local next = math.min(now + ARGV[2], last)
redis.call('ZADD', KEYS[2], next, ARGV[1])
redis.call('HSET', KEYS[1], 'used', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(next - now) + ${keptAfterEndMs})
redis.call('PEXPIRE', KEYS[2], ARGV[3] + ${keptAfterEndMs})
return {tostring(created), ARGV[4] == '1' and redis.call('HGET', KEYS[1], 'login') or '', kept[3] or ''}`);

/** KEYS: session. ARGV: fingerprints. Replaces the fingerprints if the session exists. */
export const renewScript = redisScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'fingerprints', ARGV[1]) end`);

/**
 * KEYS: sessions. ARGV: prefix of the keys, then key and fingerprints of each session to end. A session whose fingerprints have changed is
 * kept, because it was renewed. Returns the keys of the ended sessions.
 */
export const refuseScript = redisScript(`${forget}
local ended = {}
for index = 2, #ARGV, 2 do
  if (redis.call('HGET', ARGV[1] .. 'session:' .. ARGV[index], 'fingerprints') or '') == ARGV[index + 1] then
    forget(ARGV[1], ARGV[index])
    table.insert(ended, ARGV[index])
  end
end
return ended`);

/** KEYS: sessions. ARGV: prefix of the keys, then keys of the sessions to end. Returns the number of ended sessions. */
export const endScript = redisScript(`${forget}
local ended = 0
for index = 2, #ARGV do ended = ended + forget(ARGV[1], ARGV[index]) end
return ended`);

/**
 * KEYS: sessions, account. ARGV: prefix of the keys, key to keep, time. Ends the account's other sessions that began at or before this
 * time. Returns the keys of those that were still active.
 */
export const endAllScript = redisScript(`${redisNow}${forget}
local ended = {}
for _, key in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  local created = tonumber(redis.call('HGET', ARGV[1] .. 'session:' .. key, 'created') or 0) or 0
  if key ~= ARGV[2] and created <= tonumber(ARGV[3]) then
    local ends = redis.call('ZSCORE', KEYS[1], key)
    if ends and tonumber(ends) > now then table.insert(ended, key) end
    forget(ARGV[1], key)
    redis.call('SREM', KEYS[2], key)
  end
end
return ended`);

/** KEYS: sessions. ARGV: prefix of the keys. Removes expired sessions and returns their logins. Only one caller gets each login. */
export const sweepScript = redisScript(`${redisNow}${forget}
local over = {}
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 100)) do
  local login = redis.call('HGET', ARGV[1] .. 'session:' .. key, 'login')
  if login then table.insert(over, login) end
  forget(ARGV[1], key)
end
return over`);

/**
 * KEYS: sessions. ARGV: prefix of the keys, then keys. Returns for each active session its key, login, start, address, end, fingerprints,
 * client and last use.
 */
export const readScript = redisScript(`${redisNow}
local found = {}
for index = 2, #ARGV do
  local ends = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[index]) or 0)
  local fields = redis.call('HMGET', ARGV[1] .. 'session:' .. ARGV[index], 'login', 'created', 'address', 'fingerprints',
    'client', 'used')
  if ends > now and fields[1] and tonumber(fields[2] or '') then
    table.insert(found, {ARGV[index], fields[1], fields[2], fields[3] or '', tostring(ends), fields[4] or '', fields[5] or '', fields[6] or ''})
  end
end
return found`);
