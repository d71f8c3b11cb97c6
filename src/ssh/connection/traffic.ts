import type { Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';

/** What goes over one connection: how much, how many requests, when there was something last, and whether there is room for more. */
export class Traffic {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #drainListeners = new Set<() => void>();
  #lastActiveMs: number;
  /** Requests of SFTP that were answered. */
  requests = 0;

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.#lastActiveMs = clock.monotonicMs();
  }

  /** Bytes so far, both ways. */
  get bytes(): number {
    return this.#socket.bytesRead + this.#socket.bytesWritten;
  }

  /** Bytes that wait to be sent. */
  get waitingBytes(): number {
    return this.#socket.writableLength;
  }

  noteActivity(): void {
    this.#lastActiveMs = this.#clock.monotonicMs();
  }

  /** For how long nothing happened. @param nowMs monotonic */
  idleMs(nowMs: number): number {
    return nowMs - this.#lastActiveMs;
  }

  /** Has the listener called each time that all was sent. @returns ends that */
  onDrain(listener: () => void): () => void {
    this.#drainListeners.add(listener);
    return () => this.#drainListeners.delete(listener);
  }

  /** All was sent, or may be sent again: what the client takes is activity of it, too. */
  drained(): void {
    this.noteActivity();
    for (const listener of this.#drainListeners) listener();
  }
}
