import { constants, type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { catching } from '../../lib/catching.ts';
import type { Clock } from '../../lib/clock.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { StreamRequest } from '../request/incoming.ts';
import { maxPending } from './pending-replies.ts';
import { headerLimitBytes } from './refusals.ts';

/** A connection may do so much at once of what costs the service more than the client… */
const burst = 200;

/** …and so much in a second for as long as it likes. Browsers and WebDAV clients stay far below. */
const perSecond = 20;

/** Codes of the errors with which Node.js ends a session for what its client sent. */
const refusals = new Set<string | undefined>(['ERR_HTTP2_ERROR', 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES']);

/** A budget that fills again with time. */
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
 * Ends an HTTP/2 connection with ENHANCE_YOUR_CALM (RFC 9113 §7) that floods: streams that are reset before their reply (rapid reset,
 * CVE-2023-44487), and SETTINGS and PING frames, which must be answered. Tells of those, too, that Node.js ends.
 *
 * @param onFlood told once, with what the client did
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
    // Not from within the frame that was one too many: the GOAWAY would not be sent.
    setImmediate(catching(() => session.destroy(), onFault));
  };
  // Node.js ends the session itself for frames that it refuses, and for more than it counts.
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

/** Who answers the requests of a connection of HTTP/2. */
export interface StreamListener {
  /** A request whose client still waits for the reply. */
  onRequest(request: StreamRequest): void;
  /** Deals with a fault of what Node.js calls; must not throw. */
  onFault(error: unknown, victim: { destroy(): void }): void;
}

/**
 * Speaks HTTP/2 on a connection. The requests are streams of Node.js's core API: its imitation of HTTP/1's request and response costs a small
 * reply a third of its time (docs/design/costs.md).
 */
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
    // By the next turn a stream that was reset in the packet that brought it is gone, and costs nothing (CVE-2023-44487).
    setImmediate(catching(begin, (error) => onFault(error, stream)));
  };
  session.on(
    'stream',
    catching(onStream, (error, stream) => onFault(error, stream)),
  );
  return session;
}

/**
 * Node.js keeps a stream whose client gave it up without an error code for as long as the request is not read to its end, and tells nobody
 * who writes to it: what was opened for its reply would stay open.
 */
function endWithClient(stream: ServerHttp2Stream, onFault: (error: unknown) => void): void {
  stream.once(
    'aborted',
    catching(() => stream.destroy(), onFault),
  );
  // What the client broke off is no fault of ours; whoever writes to the stream hears of it by its end.
  stream.on('error', () => {});
  if (stream.endAfterHeaders) stream.resume();
}
