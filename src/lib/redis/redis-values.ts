import * as z from 'zod';
import { dropOldest } from '../expiring-map.ts';
import { parseJson } from '../json.ts';
import type { Log } from '../log.ts';
import { redisScript } from './redis-script.ts';

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

/** Values that were told of, at most; what is told again after more is no harm. */
const maxTold = 10_000;

/**
 * Reads what stands in Redis. Anybody may have written it, another version of svc too: one value that cannot be read takes nothing but
 * itself away. It is skipped, told once and counted.
 */
export class RedisValues {
  readonly #log: Log;
  readonly #told = new Set<string>();
  #unreadable = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /** How many values this process found unreadable, each once. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /**
   * Reads JSON.
   *
   * @param where the key, and what tells the value from others of it
   * @param text as Redis has it
   * @param read makes the value of what was parsed; throws for what is none
   * @returns undefined for a value that cannot be read
   */
  read<T>(where: string, text: unknown, read: (value: unknown) => T): T | undefined {
    try {
      return read(parseJson(String(text)));
    } catch (error) {
      this.skip(where, reasonOf(error));
      return undefined;
    }
  }

  /** Tells of a value that is skipped. @param reason never with the value itself, which may be secret */
  skip(where: string, reason: string): void {
    if (this.#told.has(where)) return;
    this.#told.add(where);
    dropOldest(this.#told, maxTold);
    this.#unreadable++;
    this.#log.warn('a value in Redis cannot be read and is skipped', { value: where, reason });
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError) return `${error.issues[0]?.path.join('.') ?? ''}: ${error.issues[0]?.code ?? ''}`;
  // The message of a SyntaxError quotes the text.
  return error instanceof SyntaxError ? 'it is no JSON' : 'it has not its form';
}
