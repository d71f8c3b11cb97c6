import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import { classifyFault, EndedError, type Failure } from '../../lib/remote/remote-endpoint.ts';
import { type ClamdInspectionOptions, clamdAddress } from './options.ts';
import type { Answer, InspectedContent, Inspector } from './verdict.ts';

const longestReplyCharacters = 4096;

/**
 * Maximum number of attempts to send content. clamd may reply and close the connection before it has all content. If this process is still
 * writing then, the connection breaks and the reply is lost. So that the reply can be read, the next attempt pauses after each chunk,
 * beginning shortly before the position at which the connection broke.
 */
const maxAttempts = 6;

/**
 * Maximum size of the system's buffers of a connection, in bytes. If the connection breaks, at most this many of the sent bytes were not
 * read by clamd.
 */
const maxBufferedBytes = 8 * 1024 ** 2;

/** Pause after each chunk in the second attempt, in milliseconds. Each further attempt adds this time to the pause. */
const pauseMilliseconds = 5;

class BrokenError extends Error {}

/** Lets clamd, the daemon of ClamAV, inspect files (clamd(8), command INSTREAM). */
export class ClamdInspector implements Inspector {
  readonly #options: ClamdInspectionOptions;
  readonly #clock: Clock;

  constructor(options: ClamdInspectionOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  async inspect(content: InspectedContent, signal: AbortSignal): Promise<Answer> {
    let slowFrom = Number.POSITIVE_INFINITY;
    for (let attempt = 1; ; attempt++) {
      let sentBytes = 0;
      const afterChunk = async (bytes: number) => {
        sentBytes += bytes;
        // The pause lets the socket read a reply that may have arrived.
        if (sentBytes < slowFrom) await setImmediate();
        else await this.#clock.sleep((attempt - 1) * pauseMilliseconds, signal);
      };
      try {
        const { reply, isEarly } = await this.#ask('INSTREAM', signal, (socket) => sendContent(socket, content, afterChunk));
        return parseAnswer(reply, isEarly);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof BrokenError) || attempt === maxAttempts) return { verdict: 'failure', ...failureOf(error) };
        slowFrom = sentBytes - maxBufferedBytes;
      }
    }
  }

  async test(): Promise<Failure | undefined> {
    try {
      const { reply } = await this.#ask('PING', new AbortController().signal, async () => {});
      return reply === 'PONG' ? undefined : { message: `clamd answered "${reply}"` };
    } catch (error) {
      return failureOf(error);
    }
  }

  close(): void {}

  #ask(command: string, signal: AbortSignal, send: (socket: Socket) => Promise<void>): Promise<{ reply: string; isEarly: boolean }> {
    const { url, timeout } = this.#options;
    return new Promise((resolve, reject) => {
      const socket = connect(clamdAddress(url) ?? { path: '' });
      let reply = '';
      let isConnected = false;
      let isSent = false;
      const end = (error?: Error) => {
        timer.cancel();
        signal.removeEventListener('abort', onAbort);
        socket.destroy();
        if (error) reject(error);
      };
      const onAbort = () => end(new Error('given up'));
      const timer = this.#clock.after(timeout * 1000, () =>
        end(new EndedError('timeout', `no complete reply within ${timeout} s`, timeout)),
      );
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      socket.setEncoding('latin1');
      socket.on('data', (text: string) => {
        reply += text;
        const length = reply.indexOf('\0');
        if (length < 0 && reply.length <= longestReplyCharacters) return;
        if (length < 0) return end(new Error('the reply is too long'));
        resolve({ reply: reply.slice(0, length).trim(), isEarly: !isSent });
        end();
      });
      let fault: Error | undefined;
      socket.on('error', (error) => {
        fault = error;
      });
      socket.on('close', () => {
        const message = fault ? `clamd: ${fault.message}` : 'clamd closed the connection before its reply was complete';
        const cause = fault ?? new EndedError('reset', message, '');
        end(isConnected && !isSent ? new BrokenError(message, { cause }) : new Error(message, { cause }));
      });
      socket.on('connect', () => {
        isConnected = true;
        socket.write(`z${command}\0`);
        send(socket).then(
          () => {
            isSent = true;
          },
          (error: Error) => end(error),
        );
      });
    });
  }
}

function failureOf(thrown: unknown): Failure {
  const error = thrown as Error;
  const known = error instanceof EndedError ? error : error.cause;
  if (known === undefined) return { message: error.message };
  const { fault: code, value = '' } = classifyFault(known);
  return { message: error.message, fault: { code, value } };
}

/** Sends content in chunks, each preceded by its length. The length 0 marks the end of the content. */
async function sendContent(socket: Socket, content: InspectedContent, afterChunk: (bytes: number) => Promise<void>): Promise<void> {
  const over = new Promise<false>((resolve) => socket.once('close', () => resolve(false)));
  for await (const chunk of content.chunks()) {
    // The buffer of the chunk may be reused only after the callback of `write` is called.
    const written = new Promise<true>((resolve) => {
      socket.cork();
      socket.write(encodeLength(chunk.length));
      socket.write(chunk, () => resolve(true));
      socket.uncork();
    });
    if (!(await Promise.race([written, over]))) return;
    await afterChunk(chunk.length);
  }
  await Promise.race([new Promise<void>((resolve) => socket.write(encodeLength(0), () => resolve())), over]);
}

function encodeLength(bytes: number): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes);
  return length;
}

function parseAnswer(reply: string, isEarly: boolean): Answer {
  const found = /^stream: (.+) FOUND$/.exec(reply)?.[1];
  if (found !== undefined) return { verdict: 'refuse', message: found, shown: { message: found } };
  if (/size limit exceeded/i.test(reply)) return { verdict: 'larger', message: reply };
  if (reply === 'stream: OK' && !isEarly) return { verdict: 'accept' };
  return { verdict: 'failure', message: isEarly ? `clamd answered before it had the whole file: ${reply}` : `clamd answered "${reply}"` };
}
