import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

/** Returns the first line of a stream; may be empty. */
export async function readLine(stream: Readable): Promise<string> {
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) {
    lines.close();
    return line;
  }
  return '';
}

/** Returns a secret option. With `-`, it is the first line of standard input, which other users cannot see. */
export async function readSecretOption(value: string): Promise<string> {
  return value === '-' ? (await readLine(process.stdin)).trim() : value;
}

/** Thrown after Ctrl-C. The command ends as after SIGINT. */
export class PromptLeft extends Error {}

/**
 * Asks for a hidden text on the terminal. The question goes to stderr.
 *
 * @returns the input; empty after Ctrl-D
 * @throws PromptLeft after Ctrl-C
 */
export async function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await new Promise<string>((resolve, reject) => {
      // In raw mode, Ctrl-C sends no signal, and readline would only close.
      lines.once('SIGINT', () => reject(new PromptLeft('interrupted')));
      lines.once('close', () => resolve(''));
      lines.question('', resolve);
    });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
