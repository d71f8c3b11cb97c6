import type { ClientRequest, IncomingMessage } from 'node:http';
import type { $Fetch, FetchOptions } from 'ofetch';
import type { Clock } from '../clock.ts';
import { systemErrorCode } from '../errors.ts';
import { GatheredBytes } from '../gathered-bytes.ts';
import {
  CutShortError,
  createTransport,
  type StreamedBody,
  type Transport,
  type TransportInit,
  type TransportResponse,
} from './remote-transport.ts';

/** The reason why a request got no usable reply. */
export type RemoteFault = 'refused' | 'dns' | 'tls' | 'timeout' | 'reset' | 'invalid-http' | 'too-large' | 'unreachable';

/** A reason as a code, which pages translate. `status`: the reply has another status than expected. */
export interface Fault {
  code: RemoteFault | 'status' | 'some-suspended' | 'file-too-large' | 'disabled';
  /** The part of the reason that differs, such as the seconds of a timeout; empty if the code says all. */
  value: string;
}

/** A reason in English and, if there is a code for it, as a code. */
export interface Failure {
  message: string;
  fault?: Fault | undefined;
}

export type RemoteResult =
  | {
      kind: 'reply';
      status: number;
      reason: string;
      headers: [string, string][];
      body: Buffer;
      isTruncated: boolean;
      /** Whether the reply began before a streamed request body was completely sent. If so, the rest of the body was not sent. */
      isEarly: boolean;
      durationMs: number;
    }
  /** The server sent no reply, or the reply was not complete within the timeout. */
  | { kind: 'no-reply'; fault: RemoteFault; message: string; value: string; durationMs: number }
  /** The server sent a reply that is incomplete, too large or not HTTP. */
  | { kind: 'invalid-reply'; fault: RemoteFault; message: string; value: string; durationMs: number };

/** Options for the requests to an endpoint (docs/spec/authentication.md#own-requests). */
export interface RemoteEndpointOptions {
  headers: readonly (readonly [string, string])[];
  /** User name for HTTP Basic. It overrides an `Authorization` line in `headers`. */
  username: string;
  password: string;
  /** Timeout in milliseconds for the whole request, from connecting until the reply is complete. */
  timeoutMs: number;
  maximumReplyBytes: number;
  /** Whether a longer reply is truncated. If not, a longer reply is invalid. */
  truncatesReply?: boolean;
  /** Whether a reply with a content coding is invalid. Requests never ask for a content coding. */
  refusesContentCodings?: boolean;
  caPem?: string | undefined;
  clock: Clock;
}

export interface RemoteRequest {
  url: string;
  method: string;
  /** Headers of the request. A configured header overrides a header of the same name given here. */
  headers: Record<string, string>;
  /** Headers that override all others. */
  finalHeaders?: Record<string, string>;
  body?: string | Buffer | StreamedBody | undefined;
  /** Timeout in milliseconds; replaces the timeout of the endpoint's options. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

type HeaderLine = readonly [name: string, value: string];

/** Headers that are sent unless the request or the configuration sets them. */
const defaultLines = new Map<string, HeaderLine>([
  ['user-agent', ['user-agent', `svc/${SVC_VERSION}`]],
  ['accept', ['accept', '*/*']],
  ['accept-encoding', ['accept-encoding', 'identity']],
]);

/**
 * A client of one remote endpoint. Several requests can run at the same time. The client follows no redirects, and limits the size of
 * replies.
 */
export class RemoteEndpoint {
  readonly #options: RemoteEndpointOptions;
  readonly #transport: Transport;
  readonly #configuredLines: readonly HeaderLine[];
  #client: Promise<$Fetch> | undefined;

  constructor(options: RemoteEndpointOptions) {
    this.#options = options;
    const { headers, username, password } = options;
    const basic: HeaderLine = ['authorization', `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`];
    this.#configuredLines = username !== '' || password !== '' ? [...headers, basic] : headers;
    this.#transport = createTransport(options.caPem);
  }

  /**
   * Sends a request and reads the whole reply. Failures of the network or of the server are returned as results, not thrown.
   *
   * @throws the reason of the request's signal if the signal aborts
   */
  async request(request: RemoteRequest): Promise<RemoteResult> {
    const { clock } = this.#options;
    const { body: content, timeoutMs = this.#options.timeoutMs } = request;
    const isStreamed = content !== undefined && typeof content === 'object' && 'chunks' in content;
    const startedMs = clock.monotonicMs();
    const durationMs = () => clock.monotonicMs() - startedMs;
    let outgoing: ClientRequest | undefined;
    let end: Error | undefined;
    const giveUp = (reason: Error) => {
      end ??= reason;
      outgoing?.destroy(reason);
    };
    const timer = clock.after(timeoutMs, () =>
      giveUp(new EndedError('timeout', `no complete reply within ${timeoutMs / 1000} s`, timeoutMs / 1000)),
    );
    const onAbort = () => giveUp(new Error('given up'));
    request.signal?.throwIfAborted();
    request.signal?.addEventListener('abort', onAbort);
    let hasReply = false;
    try {
      const options: FetchOptions<'stream'> & TransportInit = {
        method: request.method,
        headerLines: this.#mergeHeaders(request),
        body: isStreamed ? null : (content ?? null),
        streamed: isStreamed ? content : undefined,
        onOutgoing: (started) => {
          outgoing = started;
          if (end) started.destroy(end);
        },
        retry: false,
        ignoreResponseError: true,
        responseType: 'stream',
      };
      this.#client ??= this.#createClient();
      const client = await this.#client;
      const response: TransportResponse = await client.raw(request.url, options);
      hasReply = true;
      const isEarly = response.isEarly === true;
      if (this.#options.refusesContentCodings) refuseContentCoding(response);
      const { body, isTruncated } = await this.#readBody(response.incoming);
      if (end) throw end;
      // The connection is closed, because the server would treat the next request as the rest of the body.
      if (isEarly) outgoing?.destroy();
      return {
        kind: 'reply',
        status: response.status,
        reason: response.statusText,
        headers: response.headerLines ?? [],
        body,
        isTruncated,
        isEarly,
        durationMs: durationMs(),
      };
    } catch (thrown) {
      if (request.signal?.aborted) throw request.signal.reason;
      const { fault, message, value = '' } = classifyFault(end ?? thrown);
      const isReply = hasReply || fault === 'invalid-http';
      return { kind: isReply && fault !== 'timeout' ? 'invalid-reply' : 'no-reply', fault, message, value, durationMs: durationMs() };
    } finally {
      timer.cancel();
      request.signal?.removeEventListener('abort', onAbort);
    }
  }

  close(): void {
    this.#transport.close();
  }

  // ofetch is loaded at its first use, because it loads the `fetch` of Node.js, which takes longer than the rest of the start.
  async #createClient(): Promise<$Fetch> {
    const { createFetch } = await import('ofetch');
    return createFetch({ fetch: this.#transport.fetch });
  }

  /**
   * Merges all headers of a request. Names are compared without case. If several headers have the same name, the last one is sent, with its
   * own spelling of the name.
   */
  #mergeHeaders(request: RemoteRequest): Record<string, string> {
    const lines = new Map(defaultLines);
    for (const name in request.headers) lines.set(name.toLowerCase(), [name, request.headers[name] as string]);
    for (const line of this.#configuredLines) lines.set(line[0].toLowerCase(), line);
    for (const name in request.finalHeaders) lines.set(name.toLowerCase(), [name, request.finalHeaders[name] as string]);
    const { body } = request;
    if (body !== undefined) {
      const sizeBytes = typeof body === 'object' && 'chunks' in body ? body.sizeBytes : Buffer.byteLength(body);
      lines.set('content-length', ['content-length', String(sizeBytes)]);
    }
    return Object.fromEntries(lines.values());
  }

  #readBody(incoming: IncomingMessage | undefined): Promise<{ body: Buffer; isTruncated: boolean }> {
    const { maximumReplyBytes, truncatesReply } = this.#options;
    return new Promise((resolve, reject) => {
      if (!incoming) {
        resolve({ body: Buffer.alloc(0), isTruncated: false });
        return;
      }
      const bytes = new GatheredBytes();
      incoming.on('data', (chunk: Buffer) => {
        bytes.add(chunk);
        if (bytes.sizeBytes <= maximumReplyBytes) return;
        incoming.destroy();
        if (truncatesReply) resolve({ body: bytes.whole(maximumReplyBytes), isTruncated: true });
        else reject(new EndedError('too-large', `the reply is larger than ${maximumReplyBytes} bytes`, maximumReplyBytes));
      });
      incoming.on('end', () => resolve({ body: bytes.whole(), isTruncated: false }));
      incoming.on('error', reject);
      incoming.on('close', () => {
        if (!incoming.complete) reject(new CutShortError());
      });
    });
  }
}

/** The error with which a client ends a request itself. */
export class EndedError extends Error {
  readonly fault: RemoteFault;
  readonly value: string;

  /** @param value the part of the message that differs between faults of a kind */
  constructor(fault: RemoteFault, message: string, value: string | number) {
    super(message);
    this.fault = fault;
    this.value = String(value);
  }
}

function refuseContentCoding({ headerLines = [], incoming }: TransportResponse): void {
  const coded = headerLines.find(([name, value]) => name === 'content-encoding' && value.trim().toLowerCase() !== 'identity');
  if (!coded || !incoming) return;
  incoming.destroy();
  throw new EndedError('invalid-http', `the body has the content coding "${coded[1]}", which was not asked for`, coded[1]);
}

/** Returns the reason why a request got no usable reply, as a code. */
export function faultOf({ fault, value }: Exclude<RemoteResult, { kind: 'reply' }>): Fault {
  return { code: fault, value };
}

/** @returns `value`: the part of the message that differs between faults of a kind */
export function classifyFault(thrown: unknown): { fault: RemoteFault; message: string; value?: string } {
  const error = thrown instanceof Error && thrown.name === 'FetchError' ? (thrown.cause ?? thrown) : thrown;
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof EndedError) return { fault: error.fault, message: text, value: error.value };
  const code = systemErrorCode(error) ?? '';
  if (code === 'ECONNREFUSED') return { fault: 'refused', message: 'the connection was refused' };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return { fault: 'dns', message: `the host name cannot be resolved (${code})`, value: code };
  if (code === 'ECONNRESET' || code === 'EPIPE')
    return { fault: 'reset', message: 'the connection was closed before the reply was complete' };
  if (code.startsWith('HPE_') || error instanceof RangeError)
    return { fault: 'invalid-http', message: `the reply is not valid HTTP (${code || text})`, value: code || text };
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code))
    return { fault: 'tls', message: `TLS failed: ${text} (${code})`, value: `${text} (${code})` };
  const message = `${text}${code === '' ? '' : ` (${code})`}`;
  return { fault: 'unreachable', message, value: message };
}
