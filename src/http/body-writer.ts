import type { ServerResponse } from 'node:http';
import { ServiceError } from '../lib/errors.ts';
import type { Outgoing } from './reply.ts';

/**
 * Writes a reply body piece by piece. Each promise resolves when the piece has been handed to the kernel, so a
 * buffer may be used again and a slow client slows its sender, not the memory.
 */
export class BodyWriter {
  readonly #outgoing: ServerResponse;
  #onGone: ((error: Error) => void) | undefined;
  /** Whether the client went away before the end. */
  isGone = false;

  constructor(outgoing: Outgoing) {
    // HTTP/2's response has the same methods; TypeScript cannot see the overloads of both at once.
    this.#outgoing = outgoing as ServerResponse;
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) this.#gone();
    });
    outgoing.once('error', () => this.#gone());
    if (outgoing.destroyed) this.isGone = true;
  }

  #gone(): void {
    this.isGone = true;
    this.#onGone?.(clientGone());
  }

  write(chunk: Buffer): Promise<void> {
    return this.#settled((done) => this.#outgoing.write(chunk, done));
  }

  /** Ends the body, after a last piece if there is one. */
  end(chunk?: Buffer): Promise<void> {
    return this.#settled((done) => {
      const finished = () => done();
      if (chunk === undefined) this.#outgoing.end(finished);
      else this.#outgoing.end(chunk, finished);
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
export function endReply(outgoing: Outgoing, body: Buffer | string): Promise<boolean> {
  return new Promise((resolve) => {
    if (outgoing.destroyed) return resolve(false);
    outgoing.once('close', () => resolve(false));
    (outgoing as ServerResponse).end(body, 'latin1', () => resolve(true));
  });
}

/** What a sender throws that finds its client gone. */
export function clientGone(cause?: unknown): ServiceError {
  return new ServiceError('client-gone', 'The client went away.', { cause });
}
