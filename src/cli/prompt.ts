import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Writable } from 'node:stream';

/** The first line of a stream, without its newline; empty when the stream is. */
export async function readLine(stream: Readable): Promise<string> {
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) {
    lines.close();
    return line;
  }
  return '';
}

/** The value of an option that takes a secret: `-` stands for the first line of standard input, as others see arguments. */
export async function readSecretOption(value: string): Promise<string> {
  return value === '-' ? (await readLine(process.stdin)).trim() : value;
}

/** Thrown when the user leaves a prompt with Ctrl-C; the command ends as if by SIGINT. */
export class PromptLeft extends Error {}

/**
 * Asks on the terminal without showing the input. The question goes to stderr.
 *
 * @returns the input; empty when the input ended (Ctrl-D)
 * @throws PromptLeft on Ctrl-C
 */
export async function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await new Promise<string>((resolve, reject) => {
      // In raw mode the terminal sends no signal; readline emits an event instead, and would only close.
      lines.once('SIGINT', () => reject(new PromptLeft('interrupted')));
      lines.once('close', () => resolve(''));
      lines.question('', resolve);
    });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
