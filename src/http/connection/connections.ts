import { constants as http2Constants, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { catching } from '../../lib/catching.ts';

/** The connections of a listener, and what went over them. */
export class Connections {
  readonly #sockets = new Set<Socket>();
  /** Those whose client showed a certificate that counts. */
  readonly #authorized = new Set<TLSSocket>();
  readonly #http2Sessions = new Set<ServerHttp2Session>();
  readonly #endedBytes = { received: 0, sent: 0 };
  readonly #onFault: (error: unknown, victim: { destroy(): void }) => void;

  /** @param onFault deals with a fault of what Node.js calls; must not throw */
  constructor(onFault: (error: unknown, victim: { destroy(): void }) => void) {
    this.#onFault = onFault;
  }

  get count(): number {
    return this.#sockets.size;
  }

  /** Connections at present, and bytes on the wire so far. */
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
    const onClose = () => {
      this.#sockets.delete(socket);
      this.#endedBytes.received += socket.bytesRead;
      this.#endedBytes.sent += socket.bytesWritten;
    };
    socket.once(
      'close',
      catching(onClose, (error) => this.#onFault(error, socket)),
    );
  }

  /** A connection that `add` has, once hands are shaken. */
  addSecure(socket: TLSSocket): void {
    if (!socket.authorized) return;
    this.#authorized.add(socket);
    socket.once(
      'close',
      catching(
        () => void this.#authorized.delete(socket),
        (error) => this.#onFault(error, socket),
      ),
    );
  }

  /** Has no client certificate count any more that was shown so far: another authority may have verified it. */
  distrust(): void {
    for (const socket of this.#authorized) socket.authorized = false;
    this.#authorized.clear();
    this.closeHttp2();
  }

  addHttp2(session: ServerHttp2Session): void {
    this.#http2Sessions.add(session);
    session.once(
      'close',
      catching(
        () => void this.#http2Sessions.delete(session),
        (error) => this.#onFault(error, session),
      ),
    );
    // A broken connection is the client's affair; the streams on it report themselves.
    session.on('error', () => {});
  }

  /** Has HTTP/2 clients begin nothing new here. */
  goAway(): void {
    // A session that its client cut is here until it says so.
    for (const session of this.#http2Sessions) if (!session.destroyed) session.goaway(http2Constants.NGHTTP2_NO_ERROR);
  }

  /** Ends HTTP/2 connections after the requests under way. */
  closeHttp2(): void {
    for (const session of this.#http2Sessions) session.close();
  }

  /** Cuts everything. */
  destroy(): void {
    for (const session of this.#http2Sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }
}
