import * as z from 'zod';
import { dropOldest } from '../expiring-map.ts';
import { parseJson } from '../json.ts';
import type { Log } from '../log.ts';
import { redisScript } from './redis-script.ts';

/** The types that keys must have, by the name of the key without the prefix. Keys with other names are not checked. */
export const keyTypes: readonly (readonly [name: RegExp, type: string])[] = [
  [/^(marker|run|form|journal-count|grant-sequence|certificate-leader)$/, 'string'],
  [/^(ban|limited-name|accepted|suspended|lease|epoch|node|taken|upload|certificates|grant-visit):/, 'string'],
  [/^logins:[^:]*:session:[^:]*$/, 'hash'],
  [/^upload-hold:/, 'hash'],
  [/^(locks|journal-lost|handler-orders|handler-states|node-reports|grants|grant-counts|grant-uses)$/, 'hash'],
  [/^logins:[^:]*:sessions$/, 'zset'],
  [/^(failed|under-way|accepted-of|name-failed|name-under-way|accepted-from):/, 'zset'],
  [/^(uploads|upload-paths|nodes|node-times|grant-changes)$/, 'zset'],
  [/^(logins:[^:]*:account:|uploads-of:)/, 'set'],
  [/^uploads-completing$/, 'set'],
  [/^(node-questions|node-answers):/, 'list'],
  [/^(journal|deliveries|replays)$/, 'stream'],
];

/** Time in milliseconds for which renamed keys are kept, so that operators can inspect them. */
const keptMs = 7 * 86_400_000;

const pageKeys = 500;

/**
 * KEYS: the keys. ARGV: beginning of the new names, length of the prefix, lifetime in milliseconds, then the type of each key. Renames the
 * keys that have another type. Returns names and types of the renamed keys.
 */
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
 * Renames keys that have another type than svc uses for them. Otherwise, every command that needs such a key would fail.
 *
 * @param begin the common beginning of all keys
 * @returns whether there were such keys
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

/** Maximum number of values that this process remembers as logged. Older ones can be logged again. */
const maxTold = 10_000;

/**
 * Parses values in Redis. Another version of svc or another program may have written them. A value that cannot be read is skipped, counted
 * and logged once.
 */
export class RedisValues {
  readonly #log: Log;
  readonly #told = new Set<string>();
  #unreadable = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  get unreadable(): number {
    return this.#unreadable;
  }

  /**
   * Parses JSON.
   *
   * @param where the key, and the place of the value in it
   * @param read validates the value; throws if it is not valid
   * @returns undefined for a value that cannot be read
   */
  read<T>(where: string, text: unknown, read: (value: unknown) => T): T | undefined {
    try {
      return read(parseJson(String(text)));
    } catch (error) {
      this.skip(where, describeFault(error));
      return undefined;
    }
  }

  /** Logs that a value is skipped. @param reason must not contain the value, which may be secret */
  skip(where: string, reason: string): void {
    if (this.#told.has(where)) return;
    this.#told.add(where);
    dropOldest(this.#told, maxTold);
    this.#unreadable++;
    this.#log.warn('a value in Redis cannot be read and is skipped', { value: where, reason });
  }
}

function describeFault(error: unknown): string {
  if (error instanceof z.ZodError) return `${error.issues[0]?.path.join('.') ?? ''}: ${error.issues[0]?.code ?? ''}`;
  // The message of a SyntaxError would quote the text.
  return error instanceof SyntaxError ? 'it is not JSON' : 'it does not have the expected form';
}
