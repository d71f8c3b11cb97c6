import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import tls from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { latin1ToUtf8 } from '../headers/header-fields.ts';

/** Maximum number of idle connections to one endpoint. */
const maxIdleConnections = 64;

/** Maximum number of URLs whose parsed parts are kept. An endpoint usually has only a few. */
const maxKnownUrls = 100;

/**
 * Maximum time in milliseconds that a connection stays idle. It is shorter than the limit of common servers (2 s and more), so that a
 * request rarely uses a connection which the server is about to close. The transport never repeats a request, because a failed POST may
 * have been executed (RFC 9110 §9.2.2). Callers repeat requests only as configured.
 */
const longestIdleMs = 1500;

/** Thrown if the connection ended before the reply was complete. */
export class CutShortError extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('the connection was closed before the reply was complete');
  }
}

export interface StreamedBody {
  sizeBytes: number;
  /** Starts to read the body from its beginning. Called for each request. A chunk is valid until the next one is requested. */
  chunks(): AsyncIterable<Buffer>;
}

export interface TransportInit extends RequestInit {
  /** Header lines, which are sent unchanged. */
  headerLines?: Record<string, string>;
  /** Called with the started request, so that the caller can abort it. */
  onOutgoing?: (outgoing: ClientRequest) => void;
  /** The body to stream; used instead of `body`. */
  streamed?: StreamedBody | undefined;
}

/** The members of a `Response` that ofetch reads, and the original reply. */
export interface TransportResponse extends Pick<Response, 'status' | 'statusText'> {
  /** The reply with its unread body; undefined for a status that has no body. */
  incoming?: IncomingMessage | undefined;
  /** Header lines in the order in which they were sent. Names are in lower case. */
  headerLines?: [string, string][];
  /** Whether the reply began before a streamed body was completely sent. */
  isEarly?: boolean;
}

/**
 * A `fetch` that uses node:http and node:https, with a connection pool and configured certificate authorities. It avoids web streams,
 * because they cost more than the rest of a small request.
 */
export interface Transport {
  fetch: typeof globalThis.fetch;
  close(): void;
}

// A reply with one of these statuses has no body, even if its headers announce one (RFC 9112 §6.3).
const nullBodyStatuses = new Set([204, 304]);

/** @param caPem certificate authorities in PEM, trusted in addition to those of Node.js */
export function createTransport(caPem?: string): Transport {
  const keepAlive = { keepAlive: true, maxFreeSockets: maxIdleConnections, scheduling: 'lifo', timeout: longestIdleMs } as const;
  const httpAgent = cutUnasked(new HttpAgent(keepAlive));
  const ca = caPem === undefined ? {} : { ca: [...tls.rootCertificates, caPem] };
  const httpsAgent = cutUnasked(new HttpsAgent({ ...keepAlive, ...ca }));
  const known = new Map<string, RequestOptions>();

  function splitUrl(text: string): RequestOptions {
    const before = known.get(text);
    if (before) return before;
    const parts = urlToHttpOptions(new URL(text)) as RequestOptions;
    if (known.size >= maxKnownUrls) known.clear();
    known.set(text, parts);
    return parts;
  }

  function send(url: string, init: TransportInit): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      let hasReply = false;
      const sent = { bytes: 0 };
      const parts = splitUrl(url);
      const isTls = parts.protocol === 'https:';
      const options: RequestOptions = {
        ...parts,
        method: init.method ?? 'GET',
        headers: init.headerLines ?? {},
        agent: isTls ? httpsAgent : httpAgent,
      };
      const outgoing = (isTls ? httpsRequest : httpRequest)(options, (incoming) => {
        hasReply = true;
        const fault = checkHead(incoming);
        // If a part of the body has not left this process, the server cannot have read the whole body.
        const isEarly = init.streamed !== undefined && (sent.bytes < init.streamed.sizeBytes || outgoing.writableLength > 0);
        if (fault === undefined) return resolve({ ...toResponse(incoming), isEarly });
        incoming.destroy();
        reject(new RangeError(fault));
      });
      outgoing.on('error', reject);
      // Without such a listener, Node.js silently drops a reply with status 101.
      outgoing.on('upgrade', (_reply, socket) => {
        socket.destroy();
        reject(new RangeError('the status 101 switches to a protocol that was not requested'));
      });
      outgoing.on('close', () => {
        // The error is created only if it is needed, because creating its stack is expensive.
        if (!hasReply) reject(new CutShortError());
      });
      init.onOutgoing?.(outgoing);
      if (init.streamed) sendChunks(outgoing, init.streamed, sent).catch((error: Error) => outgoing.destroy(error));
      else outgoing.end(init.body as string | Buffer | undefined);
    });
  }

  return {
    async fetch(input, init: TransportInit = {}) {
      // Lets Node.js read bytes that have arrived on idle connections. `cutUnasked` then closes these connections, so that no request uses
      // them.
      const hasIdle = [httpAgent, httpsAgent].some(({ freeSockets }) => Object.keys(freeSockets).length > 0);
      for (let turn = 0; hasIdle && turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
      return (await send(String(input), init)) as Response;
    },
    close() {
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

/**
 * Closes idle connections that receive data. Otherwise, the data would count as the reply to the next request. A login that the endpoint
 * refuses could then succeed.
 */
function cutUnasked<T extends HttpAgent>(agent: T): T {
  const cut = function (this: Socket) {
    this.destroy();
  };
  const keepSocketAlive = agent.keepSocketAlive.bind(agent);
  const reuseSocket = agent.reuseSocket.bind(agent);
  agent.keepSocketAlive = (socket) => {
    // The type declaration does not have the return value (nodejs.org/api/http.html#agentkeepsocketalivesocket).
    const isKept = keepSocketAlive(socket) as unknown as boolean;
    if (isKept) socket.on('data', cut);
    return isKept;
  };
  agent.reuseSocket = (socket, request) => {
    socket.off('data', cut);
    reuseSocket(socket, request);
  };
  return agent;
}

/** Sends a body chunk by chunk. Stops when the body ends or the reply begins. */
async function sendChunks(outgoing: ClientRequest, { chunks }: StreamedBody, sent: { bytes: number }): Promise<void> {
  const over = new Promise<false>((resolve) => {
    outgoing.once('response', () => resolve(false));
    outgoing.once('close', () => resolve(false));
  });
  for await (const chunk of chunks()) {
    sent.bytes += chunk.length;
    // Node.js calls back when the memory of the chunk may be reused.
    const written = new Promise<true>((resolve) => outgoing.write(chunk, () => resolve(true)));
    if (!(await Promise.race([written, over]))) return;
  }
  outgoing.end();
}

/** Checks the head of a reply. Returns the reason why it is invalid; undefined if it is valid. */
function checkHead({ statusCode = 0, httpVersion, httpVersionMajor, headers }: IncomingMessage): string | undefined {
  if (statusCode < 200 || statusCode > 599) return `${statusCode} is not a status of HTTP`;
  if (httpVersionMajor !== 1) return `the version ${httpVersion} is not HTTP/1`;
  const coding = headers['transfer-encoding'] ?? 'chunked';
  return coding.toLowerCase() === 'chunked' ? undefined : `the transfer coding "${coding}" was not asked for`;
}

function toResponse(incoming: IncomingMessage): TransportResponse {
  const status = incoming.statusCode ?? 0;
  const headerLines: [string, string][] = [];
  for (let index = 0; index < incoming.rawHeaders.length; index += 2)
    headerLines.push([(incoming.rawHeaders[index] as string).toLowerCase(), incoming.rawHeaders[index + 1] as string]);
  const hasNoBody = nullBodyStatuses.has(status);
  if (hasNoBody) incoming.resume();
  const reason = incoming.statusMessage ?? '';
  return { status, statusText: latin1ToUtf8(reason) ?? reason, headerLines, incoming: hasNoBody ? undefined : incoming };
}
