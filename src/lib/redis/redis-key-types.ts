import { redisScript } from './redis-script.ts';
import type { RedisValues } from './redis-values.ts';

/** The types of all keys, by what follows the prefix. A key that is not named here is left alone. */
export const keyTypes: readonly (readonly [name: RegExp, type: string])[] = [
  [/^(marker|run|form|journal-count)$/, 'string'],
  [/^(ban|limited-name|accepted|suspended|lease|epoch|node|taken|upload):/, 'string'],
  [/^logins:[^:]*:session:[^:]*$/, 'hash'],
  [/^upload-hold:/, 'hash'],
  [/^(locks|journal-lost|handler-orders|handler-states|node-reports)$/, 'hash'],
  [/^logins:[^:]*:sessions$/, 'zset'],
  [/^(failed|under-way|accepted-of|name-failed|name-under-way|accepted-from):/, 'zset'],
  [/^(uploads|upload-paths|nodes|node-times)$/, 'zset'],
  [/^(logins:[^:]*:account:|uploads-of:)/, 'set'],
  [/^uploads-completing$/, 'set'],
  [/^(node-questions|node-answers):/, 'list'],
  [/^(journal|deliveries|replays)$/, 'stream'],
];

/** What was set aside is kept for so long, for people to look at. */
const keptMs = 7 * 86_400_000;

/** Keys of one look. */
const pageKeys = 500;

/** KEYS keys; ARGV begin of the new name, length of the prefix, ms, then the type of each. Returns names and types of those that had another. */
const setAsideScript = redisScript(`
local found = {}
for index, key in ipairs(KEYS) do
  local type = redis.call('TYPE', key).ok
  if type ~= 'none' and type ~= ARGV[index + 3] then
    local aside = ARGV[1] .. string.sub(key, ARGV[2] + 1)
    redis.call('RENAME', key, aside)
    redis.call('PEXPIRE', aside, ARGV[3])
    table.insert(found, key)
    table.insert(found, type)
  end
end
return found`);

/**
 * Puts aside the keys whose type svc never gives them: every command that needs them fails for as long as they are there.
 *
 * @param begin what all keys begin with
 * @param send sends a command
 * @returns whether there were any
 */
export async function setForeignKeysAside(
  begin: string,
  send: (command: string[]) => Promise<unknown>,
  values: RedisValues,
): Promise<boolean> {
  let isAny = false;
  let cursor = '0';
  do {
    const pattern = `${begin.replace(/[\\*?[\]]/g, '\\$&')}*`;
    const [next, names] = (await send(['SCAN', cursor, 'MATCH', pattern, 'COUNT', String(pageKeys)])) as [unknown, unknown[]];
    cursor = String(next);
    const known = names.map(String).flatMap((key) => {
      const type = keyTypes.find(([name]) => name.test(key.slice(begin.length)))?.[1];
      return type === undefined ? [] : [{ key, type }];
    });
    if (known.length === 0) continue;
    const keys = known.map(({ key }) => key);
    const args = [`${begin}unreadable:`, String(Buffer.byteLength(begin)), String(keptMs), ...known.map(({ type }) => type)];
    const found = (await send(['EVAL', setAsideScript.text, String(keys.length), ...keys, ...args])) as unknown[];
    for (let index = 0; index < found.length; index += 2) {
      isAny = true;
      values.skip(String(found[index]), `it is of type ${found[index + 1]} and was renamed to ${begin}unreadable:…`);
    }
  } while (cursor !== '0');
  return isAny;
}
