import type { ServiceEvent } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import { RateLimit } from '../lib/rate-meter.ts';
import { redactedUrl } from '../lib/remote/redacted-url.ts';
import type { UrlHealth } from '../lib/remote/url-health.ts';
import { parseWindow, type SendingWindow, untilOpen } from './forward/window.ts';
import type { EventHandlerOptions } from './options.ts';
import type { Attempt, DeliveryFault, DeliveryOutcome, RecordedFile, RecordedReply } from './records/delivery-record.ts';
import { longestWaitMs, type RetryOptions, retryWaitMs, type WaitingRetry } from './retries.ts';

/** A message ready to be sent. */
export interface Message {
  /** The `webhook-id`. */
  id: string;
  body: Buffer | undefined;
  contentType: string | undefined;
  query: readonly (readonly [string, string])[];
  /** The trace of the request that led to the events (W3C Trace Context). */
  traceparent: string | undefined;
  events: readonly ServiceEvent[];
}

export interface DeliveryResult {
  outcome: DeliveryOutcome;
  attempts: Attempt[];
  /** Status and reason phrase of the last reply, and the fault of an invalid reply. Without a reply, the reason why there is none. */
  details: string;
  fault?: DeliveryFault | undefined;
  status: number | undefined;
  /** Headers of the reply to the last attempt; empty without a reply. */
  headers: [string, string][];
  /** The last invalid reply, unless a later attempt succeeded. */
  reply: RecordedReply | undefined;
  /** URLs that were suspended during the delivery. */
  suspended: { url: string; details: string }[];
  /** The file that was sent, for a handler of type `forward`. */
  file?: RecordedFile | undefined;
}

export interface DeliverySignals {
  /** Aborts the delivery immediately, even during a request. */
  abort?: AbortSignal;
  /** Ends the delivery before the next retry. */
  noRetry?: AbortSignal;
  /** Whether the delivery is made in the background. Only such deliveries use `retry_for`, `window` and a receiver's `Retry-After`. */
  isBackground?: boolean;
  /** The state from which to continue a delivery that another process began. */
  resume?: DeliveryWait | undefined;
  /** Called before each wait. */
  onWait?: ((wait: DeliveryWait) => void) | undefined;
  /**
   * Called before each request, including retries. If the promise resolves with false, the delivery ends. @param isOver aborts the wait
   * for the result
   */
  mayRequest?: ((isOver: AbortSignal | undefined) => Promise<boolean>) | undefined;
}

export type DeliveryOptions = Pick<EventHandlerOptions, 'url' | 'rate'> & RetryOptions & { window?: string; time_zone?: string };

/** The state of a delivery between two requests. */
export type DeliveryWait = Omit<WaitingRetry, 'event'>;

interface Progress {
  message: Message;
  result: DeliveryResult;
  signals: DeliverySignals;
  /** Time of the first request, Unix time in milliseconds. */
  sinceMs: number;
}

/**
 * The result of one request. A message is discarded if its delivery can never succeed, or if the receiver does not want it now.
 * `askedWaitMs` is the pause in milliseconds that the receiver requested.
 */
export type Verdict =
  | { kind: 'valid' }
  | { kind: 'discarded'; error: string; fault?: DeliveryFault | undefined }
  | { kind: 'failed'; error: string; fault?: DeliveryFault | undefined; askedWaitMs?: number | undefined };

export interface Sent {
  verdict: Verdict;
  /** The URL to which the request was sent, if it differs from the configured one. */
  url?: string | undefined;
  durationMs: number;
  status?: number | undefined;
  reason?: string | undefined;
  headers: [string, string][];
  /** The reply, if there was one and it is not valid. */
  reply?: RecordedReply | undefined;
  file?: RecordedFile | undefined;
}

/** Sends a message to one URL, once. One implementation sends events by HTTP, and another one sends files. */
export interface Sender {
  /** @param nowMs Unix time in milliseconds @throws the reason of the signal, if it aborts */
  send(url: string, message: Message, nowMs: number, signals: Pick<DeliverySignals, 'abort' | 'isBackground'>): Promise<Sent>;
  close(): void;
}

/** Maximum number of attempts that are recorded. If there are more, only the first one and the last ones are kept. */
const maxAttempts = 100;

/** Thrown if a delivery ends before its outcome is certain. The events are sent again later. */
export class DeliveryInterrupted extends Error {}

/** Creates the result of a delivery that sent nothing. @param details the reason */
export function notSent(details: string): DeliveryResult {
  return { outcome: 'failed', attempts: [], details, status: undefined, headers: [], reply: undefined, suspended: [] };
}

/** Sends messages to the URLs of one handler, with retries and fail-over (docs/spec/delivery.md#success-and-failure). */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #sender: Sender;
  readonly #health: UrlHealth;
  readonly #clock: Clock;
  readonly #rate: RateLimit | undefined;
  readonly #window: SendingWindow | undefined;
  readonly #random: () => number;

  /** @param dependencies.random returns random numbers for the jitter of retries */
  constructor(options: DeliveryOptions, dependencies: { clock: Clock; health: UrlHealth; sender: Sender; random?: () => number }) {
    this.#options = options;
    this.#clock = dependencies.clock;
    this.#health = dependencies.health;
    this.#sender = dependencies.sender;
    this.#rate = options.rate ? new RateLimit(dependencies.clock, options.rate) : undefined;
    this.#window = parseWindow(options.window ?? '', options.time_zone ?? 'UTC');
    this.#random = dependencies.random ?? Math.random;
  }

  /**
   * Sends a message until it is delivered or discarded, or all URLs have failed.
   *
   * @throws DeliveryInterrupted if a signal ends the delivery before its outcome is certain
   */
  async send(message: Message, signals: DeliverySignals = {}): Promise<DeliveryResult> {
    const { url: urls } = this.#options;
    const result: DeliveryResult = { ...notSent('all URLs are suspended'), fault: { code: 'suspended', value: '' } };
    const progress: Progress = { message, result, signals, sinceMs: signals.resume?.sinceMs ?? this.#clock.nowMs() };
    for (const url of urls.length > 1 ? await this.#health.available(urls) : urls) {
      await this.#tryUrl(url, progress);
      if (result.outcome !== 'failed') return result;
      if (urls.length > 1) {
        await this.#health.suspend(url);
        result.suspended.push({ url: redactedUrl(url), details: result.details });
      }
    }
    return result;
  }

  close(): void {
    this.#sender.close();
  }

  async #tryUrl(url: string, progress: Progress): Promise<void> {
    const { result, signals, sinceMs } = progress;
    const urlIndex = this.#options.url.indexOf(url);
    const resumed = signals.resume?.urlIndex === urlIndex ? signals.resume : undefined;
    let failures = resumed?.failures ?? 0;
    // If the clock was set back, the calculated wait may be too long, so it is limited.
    if (resumed) await this.#sleep(Math.min(resumed.dueMs - this.#clock.nowMs(), longestWaitMs), signals);
    for (;;) {
      const verdict = await this.#attempt(url, progress);
      if (verdict.kind === 'valid') result.outcome = 'delivered';
      if (verdict.kind === 'discarded') result.outcome = 'discarded';
      if (verdict.kind !== 'failed') return;
      const isAsked = signals.isBackground === true && verdict.askedWaitMs !== undefined;
      if (!isAsked) failures++;
      const waitMs = isAsked ? verdict.askedWaitMs : retryWaitMs(this.#options, failures, signals.isBackground === true, this.#random);
      const dueMs = waitMs === undefined ? undefined : this.#dueMs(waitMs, isAsked, progress);
      if (dueMs === undefined) return;
      signals.onWait?.({ sinceMs, dueMs, failures, urlIndex });
      await this.#sleep(dueMs - this.#clock.nowMs(), signals);
    }
  }

  /**
   * Returns the time at which a retry is due; undefined if there is no retry. There is none if `retry_for` has ended, or if the receiver
   * requested a wait beyond the end of `retry_for`. Any other wait is shortened to this end.
   */
  #dueMs(waitMs: number, isAsked: boolean, { sinceMs, signals }: Progress): number | undefined {
    const nowMs = this.#clock.nowMs();
    const endMs = signals.isBackground && this.#options.retry_for > 0 ? sinceMs + this.#options.retry_for * 1000 : Number.POSITIVE_INFINITY;
    if (nowMs >= endMs || (isAsked && nowMs + waitMs > endMs)) return undefined;
    return Math.min(nowMs + waitMs, endMs);
  }

  async #sleep(waitMs: number, signals: DeliverySignals): Promise<void> {
    await uninterrupted(this.#clock.sleep(Math.max(waitMs, 0), anySignal(signals)));
  }

  async #attempt(url: string, { message, result, signals }: Progress): Promise<Verdict> {
    const { mayRequest } = signals;
    if (this.#window && signals.isBackground) await uninterrupted(untilOpen(this.#window, this.#clock, anySignal(signals)));
    if (this.#rate) await uninterrupted(this.#rate.take(signals.abort));
    if (mayRequest && !(await mayRequest(anySignal(signals)))) throw new DeliveryInterrupted('another node delivers for the handler now');
    const nowMs = this.#clock.nowMs();
    const sent = await uninterrupted(this.#sender.send(url, message, nowMs, signals));
    const { verdict, status, reason, headers, reply, file } = sent;
    const attempt: Attempt = {
      url: redactedUrl(sent.url ?? url),
      time: new Date(nowMs).toISOString(),
      duration_ms: Math.round(sent.durationMs * 10) / 10,
    };
    if (status !== undefined) attempt.status = status;
    if (reason !== undefined) attempt.reason = reason;
    result.status = status;
    result.headers = headers;
    // The last reply is kept even if later attempts got no reply.
    if (verdict.kind === 'valid') result.reply = undefined;
    else if (reply) result.reply = reply;
    if (file) result.file = file;
    result.details = verdict.kind === 'valid' ? `${status ?? 'sent'} ${reason ?? ''}`.trimEnd() : verdict.error;
    result.fault = verdict.kind === 'valid' ? undefined : verdict.fault;
    if (verdict.kind !== 'valid') attempt.error = verdict.error;
    if (result.fault) attempt.fault = result.fault;
    result.attempts.push(attempt);
    if (result.attempts.length > maxAttempts) result.attempts.splice(1, 1);
    return verdict;
  }
}

/** Waits for work that fails only if it is aborted. @throws DeliveryInterrupted if the work fails */
function uninterrupted<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause) => Promise.reject(new DeliveryInterrupted('the service stops', { cause })));
}

function anySignal({ abort, noRetry }: DeliverySignals): AbortSignal | undefined {
  const signals = [abort, noRetry].filter((signal) => signal !== undefined);
  return signals.length === 0 ? undefined : AbortSignal.any(signals);
}
