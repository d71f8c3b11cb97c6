import type { Clock } from '../lib/clock.ts';
import { compileExpression, type Expression } from '../lib/expression.ts';
import { isSecretHeader } from '../lib/headers/header-fields.ts';
import { childTraceparent } from '../lib/headers/trace-context.ts';
import { RateLimit } from '../lib/rate-meter.ts';
import { redactedUrl } from '../lib/remote/redacted-url.ts';
import { RemoteEndpoint, type RemoteResult } from '../lib/remote/remote-endpoint.ts';
import type { UrlHealth } from '../lib/remote/url-health.ts';
import type { EventHandlerOptions } from './options.ts';
import type { Attempt, DeliveryOutcome, RecordedReply } from './records/delivery-record.ts';
import { askedWaitMs, longestWaitMs, type RetryOptions, retryWaitMs, type WaitingRetry } from './retries.ts';
import { signatureHeaders, signingKey } from './signing.ts';

/** Largest part of a reply that is read, and matched by `expected_response`. */
const largestReplyBytes = 1024 * 1024;

/** Largest part of a reply that is kept with a failed delivery (docs/spec/delivery.md#records). */
const keptReplyBytes = 64 * 1024;

/** A message ready to be sent. */
export interface Message {
  /** The `webhook-id`. */
  id: string;
  body: Buffer | undefined;
  contentType: string | undefined;
  query: readonly (readonly [string, string])[];
  /** Of the request that led to the events (W3C Trace Context). */
  traceparent: string | undefined;
}

/** The result of sending a message. */
export interface DeliveryResult {
  outcome: DeliveryOutcome;
  attempts: Attempt[];
  /** Status and reason, or why there was no reply. */
  details: string;
  status: number | undefined;
  /** Headers of a valid reply. */
  headers: [string, string][];
  /** The last reply, when it was not a valid one. */
  reply: RecordedReply | undefined;
  /** URLs that were suspended meanwhile. */
  suspended: { url: string; details: string }[];
}

/** Signals that end a delivery. */
export interface DeliverySignals {
  /** Aborts at once, in the middle of a request. */
  abort?: AbortSignal;
  /** Ends before the next retry. */
  noRetry?: AbortSignal;
  /** Whether the delivery is in the background, so that `retry_for` and a receiver's `Retry-After` count. */
  isBackground?: boolean;
  /** The retry with which another process had got to. */
  resume?: DeliveryWait | undefined;
  /** Called before each wait. */
  onWait?: ((wait: DeliveryWait) => void) | undefined;
  /** Is asked before each request, also a retry; false ends the delivery. @param isOver ends the waiting for an answer */
  mayRequest?: ((isOver: AbortSignal | undefined) => Promise<boolean>) | undefined;
}

/** The options of a handler that a delivery needs. */
export type DeliveryOptions = Pick<
  EventHandlerOptions,
  'url' | 'request_method' | 'headers' | 'username' | 'password' | 'timeout' | 'expected_response' | 'rate'
> &
  RetryOptions & { signing_secret: readonly string[] };

/** The state of a delivery between two requests. */
export type DeliveryWait = Omit<WaitingRetry, 'event'>;

/** A delivery under way. */
interface Progress {
  message: Message;
  result: DeliveryResult;
  signals: DeliverySignals;
  /** When its first request was made, Unix time in milliseconds. */
  sinceMs: number;
}

/** `askedWaitMs` is the pause that a receiver requested. */
type Verdict = { kind: 'valid' } | { kind: 'busy'; error: string } | { kind: 'failed'; error: string; askedWaitMs?: number | undefined };

/** With more attempts only the first and the last ones are kept. */
const maxAttempts = 100;

/** Thrown when a delivery is aborted because the service stops; the events are sent again later. */
export class DeliveryInterrupted extends Error {}

/** The result while nothing was sent. @param details the reason */
export function notSent(details: string): DeliveryResult {
  return { outcome: 'failed', attempts: [], details, status: undefined, headers: [], reply: undefined, suspended: [] };
}

/** Sends messages to the URLs of one handler, with retries and fail-over (docs/spec/delivery.md#success-and-failure). */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #endpoint: RemoteEndpoint;
  readonly #health: UrlHealth;
  readonly #clock: Clock;
  readonly #expected: Expression | undefined;
  readonly #keys: Buffer[];
  readonly #rate: RateLimit | undefined;
  readonly #random: () => number;

  /**
   * @param dependencies.caPem certificate authorities to trust in addition to those of the system @param dependencies.random for the jitter
   * of retries
   */
  constructor(
    options: DeliveryOptions,
    dependencies: { clock: Clock; health: UrlHealth; caPem: string | undefined; random?: () => number },
  ) {
    this.#options = options;
    this.#clock = dependencies.clock;
    this.#health = dependencies.health;
    this.#expected = options.expected_response === '' ? undefined : compileExpression(options.expected_response);
    this.#keys = options.signing_secret.map(signingKey);
    this.#rate = options.rate ? new RateLimit(dependencies.clock, options.rate) : undefined;
    this.#random = dependencies.random ?? Math.random;
    this.#endpoint = new RemoteEndpoint({
      headers: options.headers,
      username: options.username,
      password: options.password,
      timeoutMs: options.timeout * 1000,
      maximumReplyBytes: largestReplyBytes,
      truncatesReply: true,
      caPem: dependencies.caPem,
      clock: dependencies.clock,
    });
  }

  /**
   * Sends a message until a URL accepts it or all have failed.
   *
   * @throws DeliveryInterrupted when a signal ends it before the outcome is certain
   */
  async send(message: Message, signals: DeliverySignals = {}): Promise<DeliveryResult> {
    const { url: urls } = this.#options;
    const result = notSent('all URLs are suspended');
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
    this.#endpoint.close();
  }

  async #tryUrl(url: string, progress: Progress): Promise<void> {
    const { result, signals, sinceMs } = progress;
    const urlIndex = this.#options.url.indexOf(url);
    const resumed = signals.resume?.urlIndex === urlIndex ? signals.resume : undefined;
    let failures = resumed?.failures ?? 0;
    // A clock that was set back meanwhile does not make the wait longer than any that a receiver asks for.
    if (resumed) await this.#sleep(Math.min(resumed.dueMs - this.#clock.nowMs(), longestWaitMs), signals);
    for (;;) {
      const verdict = await this.#attempt(url, progress);
      if (verdict.kind === 'valid') result.outcome = 'delivered';
      if (verdict.kind === 'busy') result.outcome = 'discarded';
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

  /** When a retry is due; undefined when that is after the end of `retry_for`, up to which a wait is shortened unless the receiver asked for it. */
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
    if (this.#rate) await uninterrupted(this.#rate.take(signals.abort));
    if (mayRequest && !(await mayRequest(anySignal(signals)))) throw new DeliveryInterrupted('another node delivers for the handler now');
    const nowMs = this.#clock.nowMs();
    const reply = await this.#request(url, message, nowMs, signals.abort);
    const verdict = this.#judge(reply);
    const attempt: Attempt = {
      url: redactedUrl(url),
      time: new Date(nowMs).toISOString(),
      duration_ms: Math.round(reply.durationMs * 10) / 10,
    };
    result.status = undefined;
    result.headers = [];
    // The last reply is kept even if later attempts had none.
    if (verdict.kind === 'valid') result.reply = undefined;
    if (reply.kind === 'reply') {
      attempt.status = reply.status;
      attempt.reason = reply.reason;
      result.status = reply.status;
      result.headers = reply.headers;
      if (verdict.kind !== 'valid') result.reply = recordReply(reply);
    }
    result.details = verdict.kind === 'valid' ? statusText(reply) : verdict.error;
    if (verdict.kind !== 'valid') attempt.error = verdict.error;
    result.attempts.push(attempt);
    if (result.attempts.length > maxAttempts) result.attempts.splice(1, 1);
    return verdict;
  }

  #request(url: string, message: Message, nowMs: number, signal: AbortSignal | undefined): Promise<RemoteResult> {
    const request = this.#endpoint.request({
      url: withQuery(url, message.query),
      method: this.#options.request_method.toUpperCase(),
      headers: message.contentType === undefined ? {} : { 'content-type': message.contentType },
      finalHeaders: {
        ...signatureHeaders(this.#keys, message.id, nowMs, message.body),
        ...(message.traceparent === undefined ? {} : { traceparent: childTraceparent(message.traceparent) }),
      },
      body: message.body,
      signal,
    });
    return uninterrupted(request);
  }

  #judge(reply: RemoteResult): Verdict {
    if (reply.kind !== 'reply') return { kind: 'failed', error: reply.message };
    const isSuccess = reply.status >= 200 && reply.status < 300;
    if (!isSuccess) {
      const isBusy = reply.status === 503 && reply.headers.some(([name]) => name.toLowerCase() === 'retry-after');
      if (isBusy) return { kind: 'busy', error: statusText(reply) };
      const waitMs = reply.status === 429 ? askedWaitMs(reply.headers, this.#clock.nowMs()) : undefined;
      return { kind: 'failed', error: statusText(reply), askedWaitMs: waitMs };
    }
    if (!this.#expected) return { kind: 'valid' };
    if (reply.isTruncated)
      return { kind: 'failed', error: `${statusText(reply)}, but the reply is larger than ${largestReplyBytes} bytes` };
    if (this.#expected.matches(reply.body.toString('utf8'))) return { kind: 'valid' };
    return { kind: 'failed', error: `${statusText(reply)}, but the reply does not match expected_response` };
  }
}

/** @throws DeliveryInterrupted when the work is aborted */
function uninterrupted<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause) => Promise.reject(new DeliveryInterrupted('the service stops', { cause })));
}

function anySignal({ abort, noRetry }: DeliverySignals): AbortSignal | undefined {
  const signals = [abort, noRetry].filter((signal) => signal !== undefined);
  return signals.length === 0 ? undefined : AbortSignal.any(signals);
}

/** Adds members to the query of a URL. */
export function withQuery(url: string, query: readonly (readonly [string, string])[]): string {
  if (query.length === 0) return url;
  // The present query stays byte for byte: it may be signed.
  const [bare = '', fragment] = url.split('#', 2);
  const added = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
  return `${bare}${bare.includes('?') ? '&' : '?'}${added}${fragment === undefined ? '' : `#${fragment}`}`;
}

function statusText(reply: RemoteResult): string {
  return reply.kind === 'reply' ? `${reply.status} ${reply.reason}`.trimEnd() : reply.message;
}

function recordReply(reply: Extract<RemoteResult, { kind: 'reply' }>): RecordedReply {
  const { status, reason, headers, body } = reply;
  return {
    status,
    reason,
    headers: headers.map(([name, value]) => [name, isSecretHeader(name) ? '***' : value]),
    body: body.subarray(0, keptReplyBytes).toString('utf8'),
    is_truncated: reply.isTruncated || body.length > keptReplyBytes,
  };
}
