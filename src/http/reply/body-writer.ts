import type { ServerHttp2Stream } from 'node:http2';
import type { Writable } from 'node:stream';
import type { Exchange } from '../request/exchange.ts';
import { clientGone, isClientGone, isHttp2 } from './outgoing.ts';

/**
 * Writes a reply body piece by piece. Each promise resolves when the piece has been handed to the kernel, so a
 * buffer may be used again and a slow client slows its sender, not the memory.
 */
export class BodyWriter {
  readonly #exchange: Exchange;
  readonly #outgoing: Writable;
  #onGone: ((error: Error) => void) | undefined;
  /** Whether the client went away before the end. */
  isGone = false;

  constructor(exchange: Exchange) {
    const { outgoing } = exchange;
    this.#exchange = exchange;
    this.#outgoing = outgoing;
    const onClose = () => {
      if (isCutShort(exchange)) this.#gone();
    };
    outgoing.once('close', exchange.guarded(onClose));
    outgoing.once(
      'error',
      exchange.guarded(() => this.#gone()),
    );
    if (isClientGone(outgoing)) this.isGone = true;
  }

  #gone(): void {
    this.isGone = true;
    this.#onGone?.(clientGone());
  }

  /** @throws ServiceError `client-gone` */
  checkClient(): void {
    if (this.isGone) throw clientGone();
  }

  write(chunk: Buffer): Promise<void> {
    return this.#settled((done) => this.#outgoing.write(chunk, done));
  }

  /** Ends the body, after a last piece if there is one. */
  async end(chunk?: Buffer): Promise<void> {
    if (chunk !== undefined) await this.write(chunk);
    await this.#settled((done) => {
      this.#outgoing.end((error?: Error | null) => done(error ?? (isCutShort(this.#exchange) ? clientGone() : undefined)));
    });
  }

  /** Stops waiting for anything. */
  settle(): void {
    this.#onGone = undefined;
  }

  #settled(action: (done: (error?: Error | null) => void) => void): Promise<void> {
    if (this.isGone) return Promise.reject(clientGone());
    return new Promise((resolve, reject) => {
      this.#onGone = reject;
      action((error) => {
        if (error) {
          this.isGone = true;
          reject(clientGone(error));
        } else {
          resolve();
        }
      });
    });
  }
}

/**
 * Ends a reply with its whole body, at less cost than a `BodyWriter`.
 *
 * @param body bytes, or a text with a character for each byte
 * @returns false when the client went away before the kernel had it all
 */
export function endReply(exchange: Exchange, body: Buffer | string): Promise<boolean> {
  const { outgoing } = exchange;
  if (isHttp2(outgoing)) return endStream(outgoing, body);
  return new Promise((resolve) => {
    if (isClientGone(outgoing)) return resolve(false);
    outgoing.once('close', resolve.bind(undefined, false));
    (outgoing as Writable).end(body, 'latin1', (error?: Error | null) => resolve(!error && !isCutShort(exchange)));
  });
}

/**
 * The same for a stream. Node.js closes it with its last frame, on its way or not, and takes an `end` that still waits for that for a failure:
 * so the end comes once the kernel has the body.
 */
function endStream(stream: ServerHttp2Stream, body: Buffer | string): Promise<boolean> {
  return new Promise((resolve) => {
    stream.write(body, 'latin1', (error) => {
      const isSent = !error && !isClientGone(stream);
      if (isSent) stream.end();
      resolve(isSent);
    });
  });
}

/**
 * Whether a reply that ended is cut short all the same: of a connection that broke while the kernel took the end of a reply Node.js says over HTTP/1
 * that the reply is finished.
 */
export function isCutShort({ incoming, outgoing }: Exchange): boolean {
  return !outgoing.writableFinished || (!isHttp2(outgoing) && incoming.socket.destroyed);
}
