import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { catching } from './catching.ts';
import type { Clock } from './clock.ts';
import { systemErrorCode } from './errors.ts';

/** Maximum number of costly actions that a client may take at once. Such actions cost the service more than the client. */
const burst = 200;

/** Number of such actions per second that a client may sustain. Browsers and WebDAV clients stay far below. */
const perSecond = 20;

/** Codes of the errors with which Node.js ends a session because its client misbehaved. */
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
 * Ends a flooding HTTP/2 connection with ENHANCE_YOUR_CALM (RFC 9113 §7). It counts streams that are reset before their reply (rapid reset,
 * CVE-2023-44487), and SETTINGS and PING frames, because each of them must be answered. Also reports connections that Node.js ends for such
 * reasons.
 *
 * @param onFlood called once, with the client's misbehaviour
 * @param onFault handles a fault in this function's own listeners; must not throw
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
    // Wait until the surplus frame is handled; otherwise the GOAWAY would not be sent.
    setImmediate(catching(() => session.destroy(), onFault));
  };
  // Node.js ends the session itself after invalid frames, and when its own limits are exceeded.
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
