import { constants, type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { catching } from '../../lib/catching.ts';
import type { Clock } from '../../lib/clock.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { StreamRequest } from '../request/incoming.ts';
import { maxPending } from './pending-replies.ts';
import { headerLimitBytes } from './refusals.ts';

/** Burst of actions that cost the service more than the client… */
const burst = 200;

/** …and their sustained rate per second. Browsers and WebDAV clients stay far below. */
const perSecond = 20;

/** Codes of the errors with which Node.js ends a session because of its client. */
const refusals = new Set<string | undefined>(['ERR_HTTP2_ERROR', 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES']);

/** A budget that refills with time. */
class Budget {
  readonly #clock: Clock;
  #left = burst;
  #countedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedMs = clock.monotonicMs();
  }

  /** Takes one. @returns false when nothing is left */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#countedMs) * perSecond) / 1000);
    this.#countedMs = nowMs;
    this.#left -= 1;
    return this.#left >= 0;
  }
}

/**
 * Ends a flooding HTTP/2 connection with ENHANCE_YOUR_CALM (RFC 9113 §7): streams that are reset before their reply (rapid reset, CVE-2023-44487), and
 * SETTINGS and PING frames, which must be answered. Also reports connections that Node.js ends.
 *
 * @param onFlood called once, with the client's misbehaviour
 * @param onFault deals with a fault in here; must not throw
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
    // Not while the surplus frame is handled: the GOAWAY would not be sent.
    setImmediate(catching(() => session.destroy(), onFault));
  };
  // Node.js ends the session itself for invalid frames and above its own limits.
  const onError = (error: unknown) => {
    if (isOver || !refusals.has(systemErrorCode(error))) return;
    isOver = true;
    onFlood('The frames are not valid HTTP/2, or too many.');
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

const options = {
  settings: { maxConcurrentStreams: maxPending, maxHeaderListSize: headerLimitBytes },
  maxSessionInvalidFrames: 100,
};

export interface StreamListener {
  /** Called with a request whose client still waits for the reply. */
  onRequest(request: StreamRequest): void;
  /** Deals with a fault of what Node.js calls; must not throw. */
  onFault(error: unknown, victim: { destroy(): void }): void;
}

/** Speaks HTTP/2 on a connection, with Node.js's core API: the compatibility API costs a small reply a third of its time (docs/design/costs.md). */
export function speakHttp2(socket: Socket, { onRequest, onFault }: StreamListener): ServerHttp2Session {
  const session = performServerHandshake(socket, options);
  const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _: number, rawHeaders: readonly string[]) => {
    endWithClient(stream, (error) => onFault(error, stream));
    const request: StreamRequest = {
      httpVersionMajor: 2,
      httpVersionMinor: 0,
      method: headers[':method'],
      url: headers[':path'],
      headers,
      rawHeaders,
      socket,
      stream,
    };
    const begin = () => {
      if (!stream.destroyed) onRequest(request);
    };
    // In the next turn a stream that was reset in its own packet is already gone and costs nothing (CVE-2023-44487).
    setImmediate(catching(begin, (error) => onFault(error, stream)));
  };
  const listener = catching(onStream, (error, stream) => onFault(error, stream));
  session.on('stream', listener);
  return session;
}

/** Node.js keeps a stream that its client reset without an error code until the request is read, unknown to its writer: opened files would stay open. */
function endWithClient(stream: ServerHttp2Stream, onFault: (error: unknown) => void): void {
  const onAborted = catching(() => stream.destroy(), onFault);
  stream.once('aborted', onAborted);
  // A stream that the client cancelled is not an error; its writer learns of the end.
  stream.on('error', () => {});
  if (stream.endAfterHeaders) stream.resume();
}
