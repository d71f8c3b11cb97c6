import type { Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { Incoming } from './exchange.ts';
import type { Outgoing } from './reply.ts';

/** Requests that one connection may have under way at once: pipelined ones, or streams of HTTP/2. */
export const mostPending = 128;

/** A request that waits for the reply before it. */
interface Waiting {
  outgoing: Outgoing;
  run: () => void;
}

/**
 * Pipelined requests of HTTP/1, one after the other: replies are sent in order anyway, and a request that ran before its
 * turn would keep its files open and its content in memory for as long as the client likes to read the reply before.
 */
export class PendingReplies {
  readonly #bySocket = new WeakMap<Socket, Waiting[]>();

  /**
   * Runs a request when it is its turn; never when its connection ends before.
   *
   * @returns false when the connection has too many already; then it is not run
   */
  add(incoming: Incoming, outgoing: Outgoing, run: () => void): boolean {
    if (incoming.httpVersionMajor >= 2) {
      // By the next turn a stream that was reset in the packet that brought it is gone, and costs nothing (CVE-2023-44487).
      setImmediate(() => (outgoing as Http2ServerResponse).stream.destroyed || run());
      return true;
    }
    const { socket } = incoming;
    const pending = this.#bySocket.get(socket) ?? this.#begin(socket);
    if (pending.length >= mostPending) return false;
    pending.push({ outgoing, run });
    if (pending.length === 1) start(socket, pending);
    return true;
  }

  #begin(socket: Socket): Waiting[] {
    const pending: Waiting[] = [];
    this.#bySocket.set(socket, pending);
    return pending;
  }
}

function start(socket: Socket, pending: Waiting[]): void {
  const [first] = pending;
  if (!first || socket.destroyed) return;
  const next = () => {
    if (pending[0] !== first) return;
    pending.shift();
    start(socket, pending);
  };
  first.outgoing.once('close', next);
  first.run();
}
