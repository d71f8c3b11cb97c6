import type { Finding } from '../config/findings.ts';
import { ConfigError } from '../config/findings.ts';
import { maskedSource } from '../config/reading/masked-source.ts';
import { isServiceError } from '../lib/errors.ts';
import { exitCode } from './exit-codes.ts';
import { PromptLeft } from './prompt.ts';

/** Whether a stream shows colours: it is a terminal, and `NO_COLOR` is not set (no-color.org). */
export function hasColour(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR;
}

const sgr = { red: 31, yellow: 33, green: 32, cyan: 36, dim: 2, bold: 1 } as const;

/** Colours a text for a stream that shows colours. */
export function paint(stream: NodeJS.WriteStream, style: keyof typeof sgr, text: string): string {
  return hasColour(stream) ? `\u001b[${sgr[style]}m${text}\u001b[0m` : text;
}

/** Longest line that is shown in part. */
const maxShownLine = 1024 * 1024;

/** A text on one line, its control characters escaped, so that a terminal shows it and obeys none. */
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
 * Escapes characters that svc never prints and a terminal would obey: DEL, C1 controls, and changes of the text direction. JSON has these in
 * strings alone, where the escapes mean the same.
 */
function disarmed(text: string): string {
  return escaped(text, /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g);
}

function escaped(text: string, characters: RegExp): string {
  return text.replace(characters, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Writes a finding the way compilers do: place, severity and code, path, message, then the line with a caret. */
export function findingText(finding: Finding, lines: readonly string[], stream: NodeJS.WriteStream): string {
  const place = finding.line > 0 ? `${finding.file}:${finding.line}:${finding.column}` : finding.file;
  const label = paint(stream, finding.severity === 'error' ? 'red' : 'yellow', `${finding.severity}[${finding.code}]`);
  const path = finding.path === '' ? '' : `${finding.path}: `;
  const hint = finding.hint ? ` (${finding.hint})` : '';
  return `${place}: ${label}: ${path}${finding.message}${hint}${excerpt(finding, lines, stream)}`;
}

/** The lines of a configuration that are shown with findings, without their secrets. */
export function excerptLines(source: string): string[] {
  return maskedSource(source).split(/\r?\n/);
}

/** The line at fault with a mark below. A long line is cut around its column, and control characters become blanks. */
function excerpt({ line: number, column }: Finding, lines: readonly string[], stream: NodeJS.WriteStream): string {
  const line = lines[number - 1];
  if (line === undefined || line.trim() === '' || line.length > maxShownLine) return '';
  const start = Math.max(0, column - 60);
  const shown = line.slice(start, start + 100).replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ');
  return `\n    ${shown}\n    ${' '.repeat(column - 1 - start)}${paint(stream, 'cyan', '^')}`;
}

/** Prints all findings on stderr, then their count. */
export function complainFindings(findings: readonly Finding[], source: string): void {
  if (findings.length === 0) return;
  const lines = excerptLines(source);
  for (const finding of findings) complain(findingText(finding, lines, process.stderr));
  const errors = findings.filter((finding) => finding.severity === 'error').length;
  complain(`${count(errors, 'error')}, ${count(findings.length - errors, 'warning')}`);
}

/** `1 error`, `2 errors`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Reports the error that ended a command, in one line; the stack only with `--debug`. @returns the exit code that the fault means */
export function reportFailure(error: unknown, debug: boolean): number {
  if (error instanceof ConfigError) {
    complainFindings(error.findings, error.source);
    return exitCode.no;
  }
  if (error instanceof PromptLeft) return exitCode.interrupted;
  const message = error instanceof Error ? error.message : String(error);
  complain(`svc: ${message.split('\n', 1)[0]}`);
  if (debug && error instanceof Error) complain(`${error.stack}${error.cause instanceof Error ? `\ncaused by: ${error.cause.stack}` : ''}`);
  else if (!isServiceError(error)) complain('svc: this should not happen; run again with --debug and report it');
  return isServiceError(error, 'bad-request') ? exitCode.usage : exitCode.cannotRun;
}
