import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { guarded } from '../../lib/guarded.ts';
import { isClientGone, isHttp2, type Outgoing } from '../reply/outgoing.ts';
import type { Incoming } from '../request/exchange.ts';

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
  readonly #onFault: (error: unknown, outgoing: Outgoing) => void;

  /** @param onFault deals with what a request threw that it should have dealt with itself; must not throw */
  constructor(onFault: (error: unknown, outgoing: Outgoing) => void) {
    this.#onFault = onFault;
  }

  /**
   * Runs a request when it is its turn; never when its connection ends before.
   *
   * @returns false when the connection has too many already; then it is not run
   */
  add(incoming: Incoming, outgoing: Outgoing, run: () => void): boolean {
    if (isHttp2(outgoing)) {
      const onFault = (error: unknown) => this.#onFault(error, outgoing);
      endWithClient(outgoing.stream, onFault);
      // By the next turn a stream that was reset in the packet that brought it is gone, and costs nothing (CVE-2023-44487).
      setImmediate(guarded(() => isClientGone(outgoing) || run(), onFault));
      return true;
    }
    const { socket } = incoming;
    const pending = this.#bySocket.get(socket) ?? this.#begin(socket);
    if (pending.length >= mostPending) return false;
    pending.push({ outgoing, run });
    if (pending.length === 1) this.#start(socket, pending);
    return true;
  }

  #start(socket: Socket, pending: Waiting[]): void {
    const [first] = pending;
    if (!first || socket.destroyed) return;
    const { outgoing, run } = first;
    const next = () => {
      if (pending[0] !== first) return;
      pending.shift();
      this.#start(socket, pending);
    };
    const onFault = (error: unknown) => this.#onFault(error, outgoing);
    outgoing.once('close', guarded(next, onFault));
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
    return pending;
  }
}

/**
 * Node.js keeps a stream whose client gave it up without an error code for as long as the request is not read to its end, and tells nobody
 * who writes to it: what was opened for its reply would stay open.
 */
function endWithClient(stream: ServerHttp2Stream, onFault: (error: unknown) => void): void {
  stream.once(
    'aborted',
    guarded(() => stream.destroy(), onFault),
  );
  if (stream.endAfterHeaders) stream.resume();
}
