import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { catching } from '../../lib/catching.ts';

/** Requests that one connection may have under way at once: pipelined ones, or streams of HTTP/2. */
export const maxPending = 128;

/** A request that waits for the reply before it. */
interface Waiting {
  outgoing: ServerResponse;
  run: () => void;
}

/**
 * Runs pipelined requests of HTTP/1 one after the other: replies are sent in order, and an early request would hold files and memory while the client
 * reads the reply before.
 */
export class PendingReplies {
  readonly #bySocket = new Map<Socket, Waiting[]>();
  readonly #onFault: (error: unknown, outgoing: ServerResponse) => void;

  /** @param onFault deals with uncaught faults of requests; must not throw */
  constructor(onFault: (error: unknown, outgoing: ServerResponse) => void) {
    this.#onFault = onFault;
  }

  /**
   * Runs a request after those before it on its connection, unless the connection ends first.
   *
   * @returns false if the connection has too many already
   */
  add({ socket }: IncomingMessage, outgoing: ServerResponse, run: () => void): boolean {
    const pending = this.#bySocket.get(socket) ?? this.#begin(socket);
    if (pending.length >= maxPending) return false;
    pending.push({ outgoing, run });
    if (pending.length === 1) this.#start(socket, pending);
    return true;
  }

  /** The replies whose turn it is, of all connections. */
  *underWay(): Generator<ServerResponse> {
    for (const [first] of this.#bySocket.values()) if (first) yield first.outgoing;
  }

  #start(socket: Socket, pending: Waiting[]): void {
    // After a reply that ends the connection no request is carried out (RFC 9112 §9.6).
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

  /** Whether a reply is being sent on a connection, so that nothing else may be written there. */
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
