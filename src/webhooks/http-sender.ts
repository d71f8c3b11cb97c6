import type { Clock } from '../lib/clock.ts';
import { compileExpression, type Expression } from '../lib/expression.ts';
import { childTraceparent } from '../lib/headers/trace-context.ts';
import { RemoteEndpoint, type RemoteResult } from '../lib/remote/remote-endpoint.ts';
import type { Message, Sender, Sent, Verdict } from './delivery.ts';
import type { EventHandlerOptions } from './options.ts';
import { recordReply, statusText } from './recorded-reply.ts';
import { askedWaitMs } from './retries.ts';
import { signatureHeaders, signingKey } from './signing.ts';

/** Maximum number of bytes of a reply that are read and matched against `expected_response`. */
const largestReplyBytes = 1024 * 1024;

type RequestOptions = Pick<
  EventHandlerOptions,
  'request_method' | 'headers' | 'username' | 'password' | 'timeout' | 'expected_response' | 'signing_secret'
>;

/** Sends events over HTTP (docs/spec/delivery.md#requests). */
export class HttpSender implements Sender {
  readonly #options: RequestOptions;
  readonly #endpoint: RemoteEndpoint;
  readonly #clock: Clock;
  readonly #expected: Expression | undefined;
  readonly #keys: Buffer[];

  /** @param dependencies.caPem certificate authorities to trust in addition to those of the system */
  constructor(options: RequestOptions, { clock, caPem }: { clock: Clock; caPem: string | undefined }) {
    this.#options = options;
    this.#clock = clock;
    this.#expected = options.expected_response === '' ? undefined : compileExpression(options.expected_response);
    this.#keys = options.signing_secret.map(signingKey);
    const { headers, username, password } = options;
    const limits = { timeoutMs: options.timeout * 1000, maximumReplyBytes: largestReplyBytes, truncatesReply: true };
    this.#endpoint = new RemoteEndpoint({ headers, username, password, ...limits, caPem, clock });
  }

  async send(url: string, message: Message, nowMs: number, { abort: signal }: { abort?: AbortSignal }): Promise<Sent> {
    const reply = await this.#endpoint.request({
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
    const verdict = this.#judge(reply);
    const { durationMs } = reply;
    if (reply.kind !== 'reply') return { verdict, durationMs, headers: [] };
    const { status, reason, headers } = reply;
    return { verdict, durationMs, status, reason, headers, ...(verdict.kind !== 'valid' && { reply: recordReply(reply) }) };
  }

  close(): void {
    this.#endpoint.close();
  }

  #judge(reply: RemoteResult): Verdict {
    if (reply.kind !== 'reply') return { kind: 'failed', error: reply.message, fault: { code: reply.fault, value: reply.value } };
    const isSuccess = reply.status >= 200 && reply.status < 300;
    if (!isSuccess) {
      const isBusy = reply.status === 503 && reply.headers.some(([name]) => name.toLowerCase() === 'retry-after');
      if (isBusy) return { kind: 'discarded', error: statusText(reply) };
      const waitMs = reply.status === 429 ? askedWaitMs(reply.headers, this.#clock.nowMs()) : undefined;
      return { kind: 'failed', error: statusText(reply), askedWaitMs: waitMs };
    }
    if (!this.#expected) return { kind: 'valid' };
    if (reply.isTruncated) {
      const error = `${statusText(reply)}, but the reply is larger than ${largestReplyBytes} bytes`;
      return { kind: 'failed', error, fault: { code: 'too-large', value: String(largestReplyBytes) } };
    }
    if (this.#expected.matches(reply.body.toString('utf8'))) return { kind: 'valid' };
    const error = `${statusText(reply)}, but the reply does not match expected_response`;
    return { kind: 'failed', error, fault: { code: 'unexpected', value: '' } };
  }
}

/** Adds parameters to the query of a URL. */
export function withQuery(url: string, query: readonly (readonly [string, string])[]): string {
  if (query.length === 0) return url;
  // The bytes of the existing query are not changed, because they may be signed.
  const [bare = '', fragment] = url.split('#', 2);
  const added = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
  return `${bare}${bare.includes('?') ? '&' : '?'}${added}${fragment === undefined ? '' : `#${fragment}`}`;
}
