import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { catching } from './catching.ts';

/** Maximum number of requests that can be pending on one connection (pipelined requests or HTTP/2 streams). */
export const maxPending = 128;

interface Waiting {
  outgoing: ServerResponse;
  run: () => void;
}

/**
 * Runs the pipelined HTTP/1 requests of a connection one after the other. Replies must be sent in order, so a request that started early
 * would hold files and memory while the client still reads an earlier reply.
 */
export class PendingReplies {
  readonly #bySocket = new Map<Socket, Waiting[]>();
  readonly #onFault: (error: unknown, outgoing: ServerResponse) => void;

  /** @param onFault handles errors that requests do not catch; must not throw */
  constructor(onFault: (error: unknown, outgoing: ServerResponse) => void) {
    this.#onFault = onFault;
  }

  /**
   * Runs a request after the earlier requests of its connection, unless the connection ends first.
   *
   * @returns false if too many requests of the connection are pending already
   */
  add({ socket }: IncomingMessage, outgoing: ServerResponse, run: () => void): boolean {
    const pending = this.#bySocket.get(socket) ?? this.#begin(socket);
    if (pending.length >= maxPending) return false;
    pending.push({ outgoing, run });
    if (pending.length === 1) this.#start(socket, pending);
    return true;
  }

  /** Yields the first pending reply of each connection, which is the one that is being prepared or sent. */
  *underWay(): Generator<ServerResponse> {
    for (const [first] of this.#bySocket.values()) if (first) yield first.outgoing;
  }

  #start(socket: Socket, pending: Waiting[]): void {
    // After a reply that ends the connection, no further request is run (RFC 9112 §9.6).
    if (!socket.writable) pending.length = 0;
    const [first] = pending;
    if (!first) return;
    const { outgoing, run } = first;
    const next = () => {
      if (pending[0] !== first) return;
      pending.shift();
      this.#start(socket, pending);
    };
    const onFault = (error: unknown) => this.#onFault(error, outgoing);
    outgoing.on('close', catching(next, onFault));
    try {
      run();
    } catch (error) {
      onFault(error);
    }
  }

  /** Returns whether a reply is being sent on a connection. If so, nothing else may be written there. */
  isReplying(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.[0]?.outgoing.headersSent ?? false;
  }

  #begin(socket: Socket): Waiting[] {
    const pending: Waiting[] = [];
    this.#bySocket.set(socket, pending);
    const forget = catching(
      () => void this.#bySocket.delete(socket),
      () => {},
    );
    socket.once('close', forget);
    return pending;
  }
}
