import type { Socket } from 'node:net';
import type { Incoming } from './exchange.ts';
import type { Outgoing } from './reply.ts';

/** Requests that one connection may have under way at once: pipelined ones, or streams of HTTP/2. */
export const mostPending = 128;

/**
 * The replies that each HTTP/1 connection still owes. Node.js tells only the first of them when the connection ends: the
 * others, of pipelined requests, would wait for ever, with the files that they had opened.
 */
export class PendingReplies {
  readonly #bySocket = new WeakMap<Socket, Set<Outgoing>>();

  /** Notes a reply until it is sent or dropped. @returns how many the connection owes now */
  add(incoming: Incoming, outgoing: Outgoing): number {
    if (incoming.httpVersionMajor >= 2) return 1;
    const { socket } = incoming;
    const pending = this.#bySocket.get(socket) ?? this.#begin(socket);
    pending.add(outgoing);
    const done = () => void pending.delete(outgoing);
    outgoing.once('finish', done);
    outgoing.once('close', done);
    return pending.size;
  }

  #begin(socket: Socket): Set<Outgoing> {
    const pending = new Set<Outgoing>();
    this.#bySocket.set(socket, pending);
    // After Node.js has told the first one itself.
    socket.once('close', () => setImmediate(() => [...pending].forEach(drop)));
    return pending;
  }
}

function drop(outgoing: Outgoing): void {
  if (outgoing.destroyed) return;
  outgoing.destroy();
  outgoing.emit('close');
}
