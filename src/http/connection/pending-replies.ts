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
 * Pipelined requests of HTTP/1, one after the other: replies are sent in order anyway, and a request that ran before its
 * turn would keep its files open and its content in memory for as long as the client likes to read the reply before.
 */
export class PendingReplies {
  readonly #bySocket = new Map<Socket, Waiting[]>();
  readonly #onFault: (error: unknown, outgoing: ServerResponse) => void;

  /** @param onFault deals with what a request threw that it should have dealt with itself; must not throw */
  constructor(onFault: (error: unknown, outgoing: ServerResponse) => void) {
    this.#onFault = onFault;
  }

  /**
   * Runs a request when it is its turn; never when its connection ends before.
   *
   * @returns false when the connection has too many already; then it is not run
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
    // After a reply that ends the connection no request is carried out: nobody would hear of it (RFC 9112 §9.6).
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

  /** Whether a reply on a connection is on its way to the client, so that nothing else may be written there. */
  isReplying(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.[0]?.outgoing.headersSent ?? false;
  }

  #begin(socket: Socket): Waiting[] {
    const pending: Waiting[] = [];
    this.#bySocket.set(socket, pending);
    socket.once(
      'close',
      catching(
        () => void this.#bySocket.delete(socket),
        () => {},
      ),
    );
    return pending;
  }
}
