import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

/** Returns the first line of a stream without its newline; empty if the stream is empty. */
export async function readLine(stream: Readable): Promise<string> {
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) {
    lines.close();
    return line;
  }
  return '';
}

/**
 * Returns the value of an option that takes a secret. With `-`, the secret is the first line of standard input, so that other users of the
 * machine cannot see it among the arguments.
 */
export async function readSecretOption(value: string): Promise<string> {
  return value === '-' ? (await readLine(process.stdin)).trim() : value;
}

/** Thrown if the user leaves a prompt with Ctrl-C. The command then ends as it would after SIGINT. */
export class PromptLeft extends Error {}

/**
 * Asks for a text on the terminal without showing the input. The question goes to stderr.
 *
 * @returns the input; empty if the input was ended with Ctrl-D
 * @throws PromptLeft after Ctrl-C
 */
export async function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await new Promise<string>((resolve, reject) => {
      // In raw mode, Ctrl-C sends no signal. readline emits an event instead; without a listener, readline would only close.
      lines.once('SIGINT', () => reject(new PromptLeft('interrupted')));
      lines.once('close', () => resolve(''));
      lines.question('', resolve);
    });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
