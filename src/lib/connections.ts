import { constants as http2Constants, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { catching } from './catching.ts';

/** The connections of a listener and their traffic. */
export class Connections {
  readonly #sockets = new Set<Socket>();
  /** The TLS connections whose client certificate was verified. */
  readonly #authorized = new Set<TLSSocket>();
  readonly #http2Sessions = new Set<ServerHttp2Session>();
  readonly #endedBytes = { received: 0, sent: 0 };
  readonly #onFault: (error: unknown, victim: { destroy(): void }) => void;

  /** @param onFault handles a fault in a listener that Node.js calls; must not throw */
  constructor(onFault: (error: unknown, victim: { destroy(): void }) => void) {
    this.#onFault = onFault;
  }

  get count(): number {
    return this.#sockets.size;
  }

  /** The number of open connections, and the bytes sent and received on all connections so far. */
  get traffic(): { connections: number; receivedBytes: number; sentBytes: number } {
    let { received: receivedBytes, sent: sentBytes } = this.#endedBytes;
    for (const socket of this.#sockets) {
      receivedBytes += socket.bytesRead;
      sentBytes += socket.bytesWritten;
    }
    return { connections: this.count, receivedBytes, sentBytes };
  }

  add(socket: Socket): void {
    this.#sockets.add(socket);
    this.#onClose(socket, () => {
      this.#sockets.delete(socket);
      this.#endedBytes.received += socket.bytesRead;
      this.#endedBytes.sent += socket.bytesWritten;
    });
  }

  /** Registers a connection that was passed to `add` before, after its TLS handshake. */
  addSecure(socket: TLSSocket): void {
    if (!socket.authorized) return;
    this.#authorized.add(socket);
    this.#onClose(socket, () => void this.#authorized.delete(socket));
  }

  /** Invalidates all client certificates: another authority may have verified them. */
  distrust(): void {
    for (const socket of this.#authorized) socket.authorized = false;
    this.#authorized.clear();
    this.closeHttp2();
  }

  addHttp2(session: ServerHttp2Session): void {
    this.#http2Sessions.add(session);
    this.#onClose(session, () => void this.#http2Sessions.delete(session));
    // A broken connection affects only its client, and the streams on it report their own errors.
    session.on('error', () => {});
  }

  #onClose(victim: Socket | ServerHttp2Session, action: () => void): void {
    const listener = catching(action, (error) => this.#onFault(error, victim));
    victim.once('close', listener);
  }

  /** Tells HTTP/2 clients to send no new requests here. */
  goAway(): void {
    // A session that its client cut stays in the set until its `close` event.
    for (const session of this.#http2Sessions) if (!session.destroyed) session.goaway(http2Constants.NGHTTP2_NO_ERROR);
  }

  /** Ends HTTP/2 connections after their running requests. */
  closeHttp2(): void {
    for (const session of this.#http2Sessions) session.close();
  }

  /** Cuts all connections. */
  destroy(): void {
    for (const session of this.#http2Sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }
}
