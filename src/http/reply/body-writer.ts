import type { ServerHttp2Stream } from 'node:http2';
import type { Writable } from 'node:stream';
import type { Exchange } from '../request/exchange.ts';
import { clientGone, isClientGone, isHttp2 } from './outgoing.ts';

/**
 * Writes a reply body in pieces. Each promise resolves once the kernel has accepted the piece. The caller can then reuse the buffer, and
 * never sends faster than the client receives.
 */
export class BodyWriter {
  readonly #exchange: Exchange;
  readonly #outgoing: Writable;
  #onGone: ((error: Error) => void) | undefined;
  isGone = false;

  constructor(exchange: Exchange) {
    const { outgoing } = exchange;
    this.#exchange = exchange;
    this.#outgoing = outgoing;
    const onClose = exchange.catching(() => {
      if (isCutShort(exchange)) this.#gone();
    });
    const onError = exchange.catching(() => this.#gone());
    outgoing.once('close', onClose);
    outgoing.once('error', onError);
    if (isClientGone(outgoing)) this.isGone = true;
  }

  #gone(): void {
    this.isGone = true;
    this.#onGone?.(clientGone());
  }

  /** Checks that the client is still connected. @throws ServiceError `client-gone` */
  checkClient(): void {
    if (this.isGone) throw clientGone();
  }

  write(chunk: Buffer): Promise<void> {
    return this.#settled((done) => this.#outgoing.write(chunk, done));
  }

  /** Ends the body. If there is a last chunk, writes it first. */
  async end(chunk?: Buffer): Promise<void> {
    if (chunk !== undefined) await this.write(chunk);
    await this.#settled((done) => {
      this.#outgoing.end((error?: Error | null) => done(error ?? (isCutShort(this.#exchange) ? clientGone() : undefined)));
    });
  }

  /** Forgets the last write, so that its promise is no longer rejected if the client disconnects. */
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
 * Sends the whole body of a reply, and ends the reply. This costs less than a `BodyWriter`.
 * @param body bytes, or a text with one character for each byte
 * @returns false if the client disconnected before the kernel had accepted the whole body
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
 * Does the same as `endReply` for an HTTP/2 stream. When Node.js sends the last frame, it closes the stream, and an `end` that is still
 * pending fails. So this function ends the stream only once the kernel has accepted the body.
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
 * Returns whether a reply that was ended is incomplete. For HTTP/1, Node.js calls a reply finished even if the connection broke before the
 * kernel had accepted all of it, so the socket is checked, too.
 */
export function isCutShort({ incoming, outgoing }: Exchange): boolean {
  return !outgoing.writableFinished || (!isHttp2(outgoing) && incoming.socket.destroyed);
}
