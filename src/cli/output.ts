import { isServiceError } from '../lib/errors.ts';
import { exitCode } from './exit-codes.ts';
import { PromptLeft } from './prompt.ts';

/** Returns whether a stream shows colours: the stream must be a terminal, and `NO_COLOR` must not be set (no-color.org). */
export function hasColour(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR;
}

const sgr = { red: 31, yellow: 33, green: 32, cyan: 36, dim: 2, bold: 1 } as const;

/** Colours a text if the stream shows colours. */
export function paint(stream: NodeJS.WriteStream, style: keyof typeof sgr, text: string): string {
  return hasColour(stream) ? `\u001b[${sgr[style]}m${text}\u001b[0m` : text;
}

/** Makes a text safe for a terminal: it is on one line, and its control characters are escaped. */
export function visible(text: string): string {
  return escaped(text, /[\u0000-\u001f\u2028\u2029]/g);
}

/** Prints a result on stdout. */
export function print(text: string): void {
  process.stdout.write(`${disarmed(text)}\n`);
}

/** Prints a diagnostic on stderr. */
export function complain(text: string): void {
  process.stderr.write(`${disarmed(text)}\n`);
}

/**
 * Escapes characters that a terminal would interpret, and that svc itself never uses: DEL, C1 controls, and changes of the text direction.
 * In JSON they occur only in strings, where the escapes have the same meaning.
 */
function disarmed(text: string): string {
  return escaped(text, /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g);
}

function escaped(text: string, characters: RegExp): string {
  return text.replace(characters, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Returns a number with a noun, such as `1 error` or `2 errors`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Prints one line about the error that ended a command. With `debug`, also prints the stack. @returns the exit code for the error */
export function reportFailure(error: unknown, debug: boolean): number {
  if (error instanceof PromptLeft) return exitCode.interrupted;
  const message = error instanceof Error ? error.message : String(error);
  complain(`svc: ${visible(message.split('\n', 1)[0] ?? '')}`);
  if (debug && error instanceof Error) complain(`${error.stack}${error.cause instanceof Error ? `\ncaused by: ${error.cause.stack}` : ''}`);
  else if (!isServiceError(error)) complain('svc: this should not happen; run again with --debug and report it');
  return isServiceError(error, 'bad-request') ? exitCode.usage : exitCode.cannotRun;
}
