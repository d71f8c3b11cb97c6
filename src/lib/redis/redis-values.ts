import * as z from 'zod';
import { dropOldest } from '../expiring-map.ts';
import { parseJson } from '../json.ts';
import type { Log } from '../log.ts';

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
