import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Clock } from '../../lib/clock.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import { guarded } from '../../lib/guarded.ts';

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
    setImmediate(guarded(() => session.destroy(), onFault));
  };
  // Node.js ends the session itself for frames that it refuses, and for more than it counts.
  const onError = (error: unknown) => {
    if (isOver || !refusals.has(systemErrorCode(error))) return;
    isOver = true;
    onFlood('The frames are not valid HTTP/2, or too many.');
  };
  session.on('error', guarded(onError, onFault));
  const onStream = (stream: ServerHttp2Stream) => {
    const onClose = () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR && !resets.take()) end('Too many streams were reset.');
    };
    stream.once('close', guarded(onClose, onFault));
  };
  session.on('stream', guarded(onStream, onFault));
  const onControl = () => {
    if (!controls.take()) end('Too many SETTINGS or PING frames.');
  };
  for (const frame of ['remoteSettings', 'ping'] as const) session.on(frame, guarded(onControl, onFault));
}
