import type { Clock } from './clock.ts';
import { maskSecrets } from './secrets.ts';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];
export type LogFormat = 'pretty' | 'json';

/** Fields of a log message. They must not contain secrets. */
export type LogFields = Record<string, unknown>;

export interface Log {
  /** Whether `debug` writes anything. If not, callers need not compute the fields. */
  readonly isDebug: boolean;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export interface LogOptions {
  level: LogLevel;
  format: LogFormat;
  clock: Clock;
  /** Called with each finished line, including its newline. */
  write: (line: string) => void;
  /** Whether the pretty format uses ANSI colours. */
  colour?: boolean;
  fields?: LogFields;
}

// Fields whose values are masked. This is a second safeguard, in case a caller logs such a value by mistake.
const maskedFields = new Set(['password', 'authorization', 'cookie', 'set-cookie', 'session', 'token', 'content', 'secret']);

const colours: Record<LogLevel, string> = { debug: '\u001b[2m', info: '\u001b[36m', warn: '\u001b[33m', error: '\u001b[31m' };

function plain(value: unknown): unknown {
  if (value instanceof Error) return value.cause ? `${value.message} (${(value.cause as Error).message ?? value.cause})` : value.message;
  return value;
}

// A line break or control character in a value must not make a second log line.
function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function fieldText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return /^[^\s"=]+$/.test(text) ? visible(text) : JSON.stringify(visible(text));
}

/** Creates a structured log. Each message is one line. */
export function createLog(options: LogOptions): Log {
  const threshold = logLevels.indexOf(options.level);
  function line(level: LogLevel, message: string, fields: LogFields): string {
    const time = new Date(options.clock.nowMs()).toISOString();
    const shown: LogFields = {};
    for (const [name, value] of Object.entries({ ...options.fields, ...fields })) {
      if (value !== undefined) shown[name] = maskedFields.has(name.toLowerCase()) ? '***' : plain(value);
    }
    if (options.format === 'json') return `${JSON.stringify({ time, level, message, ...shown })}\n`;
    const tail = Object.entries(shown).map(([name, value]) => ` ${name}=${fieldText(value)}`);
    const label = level.toUpperCase().padEnd(5);
    const head = options.colour ? `${colours[level]}${label}\u001b[0m` : label;
    return `${time} ${head} ${visible(message)}${tail.join('')}\n`;
  }
  function at(level: LogLevel) {
    if (logLevels.indexOf(level) < threshold) return () => {};
    return (message: string, fields: LogFields = {}) => options.write(maskSecrets(line(level, message, fields)));
  }
  return { isDebug: threshold === 0, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** A log that writes nothing, for tests and for commands that end immediately. */
export const silentLog: Log = { isDebug: false, debug() {}, info() {}, warn() {}, error() {} };
