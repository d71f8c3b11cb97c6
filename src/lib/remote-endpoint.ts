import type { ClientRequest, IncomingMessage } from 'node:http';
import { createFetch, FetchError, type FetchOptions } from 'ofetch';
import type { Clock } from './clock.ts';
import { systemErrorCode } from './errors.ts';
import { RequestHeaders } from './remote-headers.ts';
import { CutShortError, createTransport, type Transport, type TransportInit, type TransportResponse } from './remote-transport.ts';

/** Why no usable reply came. */
export type RemoteFault = 'refused' | 'dns' | 'tls' | 'timeout' | 'reset' | 'invalid-http' | 'too-large' | 'unreachable';

/** What came of one request to a remote endpoint. */
export type RemoteResult =
  | {
      kind: 'reply';
      status: number;
      reason: string;
      headers: [string, string][];
      body: Buffer;
      /** Whether the body is only the beginning of what came. */
      isTruncated: boolean;
      durationMs: number;
    }
  /** Nothing that could be called a reply. */
  | { kind: 'no-reply'; fault: RemoteFault; message: string; durationMs: number }
  /** A reply began, but it is not one: cut short, too large, not HTTP. */
  | { kind: 'invalid-reply'; fault: RemoteFault; message: string; durationMs: number };

/** How an endpoint is reached (service.md, "Authenticating the service's own requests"). */
export interface RemoteEndpointOptions {
  headers: readonly (readonly [string, string])[];
  /** HTTP Basic; wins over an Authorization line in `headers`. */
  username: string;
  password: string;
  /** Longest time for connecting, headers and body together. */
  timeoutMs: number;
  maximumReplyBytes: number;
  /** Whether a longer reply is cut off rather than taken for none. */
  truncatesReply?: boolean;
  caPem?: string | undefined;
  clock: Clock;
}

/** One request to a remote endpoint. */
export interface RemoteRequest {
  url: string;
  method: string;
  /** Win over the configured headers only where those do not name the header. */
  headers: Record<string, string>;
  /** Win over all others. */
  finalHeaders?: Record<string, string>;
  body?: string | Buffer | undefined;
  /** Gives the request up. */
  signal?: AbortSignal | undefined;
}

/** A client of one remote endpoint: one request at a time or many, never a redirect, never more reply than allowed. */
export class RemoteEndpoint {
  readonly #options: RemoteEndpointOptions;
  readonly #transport: Transport;
  readonly #fetch: ReturnType<typeof createFetch>;

  constructor(options: RemoteEndpointOptions) {
    this.#options = options;
    this.#transport = createTransport(options.caPem);
    // Duck-typed: ofetch asks of both no more than these have.
    this.#fetch = createFetch({
      fetch: this.#transport.fetch as unknown as typeof globalThis.fetch,
      Headers: RequestHeaders as unknown as typeof globalThis.Headers,
      AbortController: globalThis.AbortController,
    });
  }

  /**
   * Sends one request and reads the whole reply. Never throws for what the other side does.
   *
   * @throws the reason of the request's signal when that aborts
   */
  async request(request: RemoteRequest): Promise<RemoteResult> {
    const { clock, timeoutMs } = this.#options;
    const startedMs = clock.monotonicMs();
    const durationMs = () => clock.monotonicMs() - startedMs;
    let outgoing: ClientRequest | undefined;
    let end: Error | undefined;
    const giveUp = (reason: Error) => {
      end ??= reason;
      outgoing?.destroy(reason);
    };
    const timer = clock.after(timeoutMs, () => giveUp(new TimeoutError(timeoutMs)));
    const onAbort = () => giveUp(new GivenUpError());
    request.signal?.throwIfAborted();
    request.signal?.addEventListener('abort', onAbort);
    let hasReply = false;
    try {
      const options: TransportInit & FetchOptions<'stream'> = {
        method: request.method,
        headers: this.#headersOf(request) as RequestHeaders & Headers,
        body: request.body as string,
        onOutgoing: (started) => {
          outgoing = started;
          if (end) started.destroy(end);
        },
        retry: false,
        ignoreResponseError: true,
        responseType: 'stream',
      };
      const response = (await this.#fetch.raw(request.url, options)) as unknown as TransportResponse;
      hasReply = true;
      const { body, isTruncated } = await this.#readBody(response.body);
      if (end) throw end;
      return {
        kind: 'reply',
        status: response.status,
        reason: response.statusText,
        headers: response.headers,
        body,
        isTruncated,
        durationMs: durationMs(),
      };
    } catch (thrown) {
      if (request.signal?.aborted) throw request.signal.reason;
      const { fault, message } = faultOf(end ?? thrown);
      const isReply = hasReply || fault === 'invalid-http';
      return { kind: isReply && fault !== 'timeout' ? 'invalid-reply' : 'no-reply', fault, message, durationMs: durationMs() };
    } finally {
      timer.cancel();
      request.signal?.removeEventListener('abort', onAbort);
    }
  }

  close(): void {
    this.#transport.close();
  }

  #headersOf(request: RemoteRequest): RequestHeaders {
    const { headers: configured, username, password } = this.#options;
    const headers = new RequestHeaders();
    headers.set('user-agent', `svc/${SVC_VERSION}`);
    headers.set('accept', '*/*');
    headers.set('accept-encoding', 'identity');
    for (const name in request.headers) headers.set(name, request.headers[name] as string);
    for (const [name, value] of configured) headers.set(name, value);
    if (username !== '' || password !== '')
      headers.set('authorization', `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`);
    for (const name in request.finalHeaders) headers.set(name, request.finalHeaders[name] as string);
    if (request.body !== undefined) headers.set('content-length', String(Buffer.byteLength(request.body)));
    return headers;
  }

  #readBody(incoming: IncomingMessage | null): Promise<{ body: Buffer; isTruncated: boolean }> {
    const { maximumReplyBytes, truncatesReply } = this.#options;
    return new Promise((resolve, reject) => {
      if (!incoming) {
        resolve({ body: Buffer.alloc(0), isTruncated: false });
        return;
      }
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      incoming.on('data', (chunk: Buffer) => {
        sizeBytes += chunk.length;
        chunks.push(chunk);
        if (sizeBytes <= maximumReplyBytes) return;
        incoming.destroy();
        if (truncatesReply) resolve({ body: Buffer.concat(chunks, maximumReplyBytes), isTruncated: true });
        else reject(new TooLargeError(maximumReplyBytes));
      });
      incoming.on('end', () => resolve({ body: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks), isTruncated: false }));
      incoming.on('error', reject);
      incoming.on('close', () => {
        if (!incoming.complete) reject(new CutShortError());
      });
    });
  }
}

class TimeoutError extends Error {
  constructor(timeoutMs: number) {
    super(`no complete reply within ${timeoutMs / 1000} s`);
  }
}

class GivenUpError extends Error {}

class TooLargeError extends Error {
  constructor(limitBytes: number) {
    super(`the reply is larger than ${limitBytes} bytes`);
  }
}

function faultOf(thrown: unknown): { fault: RemoteFault; message: string } {
  const error = thrown instanceof FetchError && thrown.cause ? thrown.cause : thrown;
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof TimeoutError) return { fault: 'timeout', message: text };
  if (error instanceof TooLargeError) return { fault: 'too-large', message: text };
  const code = systemErrorCode(error) ?? '';
  if (code === 'ECONNREFUSED') return { fault: 'refused', message: 'the connection was refused' };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return { fault: 'dns', message: `the host name cannot be resolved (${code})` };
  if (code === 'ECONNRESET' || code === 'EPIPE')
    return { fault: 'reset', message: 'the connection was closed before the reply was complete' };
  if (code.startsWith('HPE_') || error instanceof RangeError)
    return { fault: 'invalid-http', message: `the reply is not valid HTTP (${code || text})` };
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code))
    return { fault: 'tls', message: `TLS failed: ${text} (${code})` };
  return { fault: 'unreachable', message: `${text}${code === '' ? '' : ` (${code})`}` };
}
