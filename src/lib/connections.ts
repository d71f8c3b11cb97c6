import { constants, constants as http2Constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { catching } from './catching.ts';
import type { Clock } from './clock.ts';
import { systemErrorCode } from './errors.ts';

/** Tracks the connections of a listener, and their traffic. */
export class Connections {
  readonly #sockets = new Set<Socket>();
  /** The TLS connections whose client certificate was verified. */
  readonly #authorized = new Set<TLSSocket>();
  readonly #http2Sessions = new Set<ServerHttp2Session>();
  readonly #endedBytes = { received: 0, sent: 0 };
  readonly #onFault: (error: unknown, victim: { destroy(): void }) => void;

  /** @param onFault handles errors in listeners that Node.js calls; must not throw */
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

  /** Registers a connection after its TLS handshake. The connection was passed to `add` before. */
  addSecure(socket: TLSSocket): void {
    if (!socket.authorized) return;
    this.#authorized.add(socket);
    this.#onClose(socket, () => void this.#authorized.delete(socket));
  }

  /** Invalidates all verified client certificates. It is called when the trusted authorities change. */
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
    // A session that its client has cut stays in the set until its `close` event, so destroyed sessions are skipped.
    for (const session of this.#http2Sessions) if (!session.destroyed) session.goaway(http2Constants.NGHTTP2_NO_ERROR);
  }

  /** Ends HTTP/2 connections when their running requests have ended. */
  closeHttp2(): void {
    for (const session of this.#http2Sessions) session.close();
  }

  destroy(): void {
    for (const session of this.#http2Sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Maximum number of costly actions that a client may take in a burst. A costly action costs the service more than the client. */
const burst = 200;

/** Number of costly actions per second that a client may take in the long run. Browsers and WebDAV clients take far fewer. */
const perSecond = 20;

/** Codes of the errors with which Node.js ends a session if the client misbehaves. */
const refusals = new Set<string | undefined>(['ERR_HTTP2_ERROR', 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES']);

/** A number of actions that a client may take. It grows with time up to `burst`. */
class Budget {
  readonly #clock: Clock;
  #left = burst;
  #countedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedMs = clock.monotonicMs();
  }

  /** Takes one action from the budget. @returns false if the budget is used up */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#countedMs) * perSecond) / 1000);
    this.#countedMs = nowMs;
    this.#left -= 1;
    return this.#left >= 0;
  }
}

/**
 * Ends a flooding HTTP/2 connection with the error ENHANCE_YOUR_CALM (RFC 9113 §7). This function counts streams that are reset
 * (rapid reset, CVE-2023-44487). It also counts SETTINGS and PING frames, because each such frame must be answered. If Node.js
 * itself ends the connection, because of invalid frames or because of its own limits, `onFlood` is called, too.
 *
 * @param onFlood called once with a description of the client's misbehaviour
 * @param onFault handles errors in the listeners of this function; must not throw
 */
export function endFloods(
  session: ServerHttp2Session,
  clock: Clock,
  onFlood: (what: string) => void,
  onFault: (error: unknown) => void,
): void {
  const resets = new Budget(clock);
  const controls = new Budget(clock);
  let isOver = false;
  const end = (what: string) => {
    if (isOver) return;
    isOver = true;
    onFlood(what);
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    // The surplus frame must be handled first. Otherwise the GOAWAY would not be sent.
    setImmediate(catching(() => session.destroy(), onFault));
  };
  // Node.js itself ends a session after invalid frames, and if its own limits are exceeded.
  const onError = (error: unknown) => {
    if (isOver || !refusals.has(systemErrorCode(error))) return;
    isOver = true;
    onFlood('The frames are not valid HTTP/2, or there are too many of them.');
  };
  session.on('error', catching(onError, onFault));
  const onStream = (stream: ServerHttp2Stream) => {
    const onClose = () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR && !resets.take()) end('Too many streams were reset.');
    };
    stream.once('close', catching(onClose, onFault));
  };
  session.on('stream', catching(onStream, onFault));
  const onControl = () => {
    if (!controls.take()) end('Too many SETTINGS or PING frames.');
  };
  for (const frame of ['remoteSettings', 'ping'] as const) session.on(frame, catching(onControl, onFault));
}
