import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import tls from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { latin1ToUtf8 } from '../headers/header-fields.ts';

/** Idle connections kept to one endpoint. */
const maxIdleConnections = 64;

/** URLs whose parts are cached; an endpoint has a few. */
const maxKnownUrls = 100;

/**
 * Idle time of a connection, less than that of common servers (2 s and more): a request hardly ever meets a connection that the other side is
 * closing. Requests are not repeated, as a POST that failed may have been executed (RFC 9110 §9.2.2); the configuration decides.
 */
const longestIdleMs = 1500;

/** The connection ended before the reply did. */
export class CutShortError extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('the connection was closed before the reply was complete');
  }
}

/** A body that is read while it is sent. */
export interface StreamedBody {
  sizeBytes: number;
  /** Begins to read it, for each request anew; a chunk is valid until the next is asked for. */
  chunks(): AsyncIterable<Buffer>;
}

/** The options of a request beside those of `fetch`. */
export interface TransportInit extends RequestInit {
  /** Header lines, sent unchanged. */
  headerLines?: Record<string, string>;
  /** Gets the request, to abort it. */
  onOutgoing?: (outgoing: ClientRequest) => void;
  /** The body, in place of `body`. */
  streamed?: StreamedBody | undefined;
}

/** The part of a `Response` that ofetch reads, and the reply itself. */
export interface TransportResponse extends Pick<Response, 'status' | 'statusText'> {
  /** The reply, its body unread; undefined for statuses that have no body. */
  incoming?: IncomingMessage | undefined;
  /** Header lines as sent, names in lower case. */
  headerLines?: [string, string][];
  /** Whether it began before all of a streamed body was sent. */
  isEarly?: boolean;
}

/**
 * `fetch` over node:http and node:https, with a pool of connections, configured certificate authorities and no web streams, which cost more
 * than the rest of a small request.
 */
export interface Transport {
  fetch: typeof globalThis.fetch;
  close(): void;
}

// These statuses have no body, even if their headers announce one (RFC 9112 §6.3).
const nullBodyStatuses = new Set([204, 304]);

/** @param caPem certificate authorities in PEM, trusted in addition to those of the system */
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
        // A server cannot have read what is still in this process.
        const isEarly = init.streamed !== undefined && (sent.bytes < init.streamed.sizeBytes || outgoing.writableLength > 0);
        if (fault === undefined) return resolve({ ...toResponse(incoming), isEarly });
        incoming.destroy();
        reject(new RangeError(fault));
      });
      outgoing.on('error', reject);
      // Node.js drops a 101 silently without a listener.
      outgoing.on('upgrade', (_reply, socket) => {
        socket.destroy();
        reject(new RangeError('the status 101 switches to a protocol that was not requested'));
      });
      outgoing.on('close', () => {
        // Errors are made only when needed: a stack costs.
        if (!hasReply) reject(new CutShortError());
      });
      init.onOutgoing?.(outgoing);
      if (init.streamed) sendChunks(outgoing, init.streamed, sent).catch((error: Error) => outgoing.destroy(error));
      else outgoing.end(init.body as string | Buffer | undefined);
    });
  }

  return {
    async fetch(input, init: TransportInit = {}) {
      // Bytes that have arrived on idle connections are read before one of these is used.
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

/** Closes idle connections on which something comes: the next request would take it for its own reply, and a refused login for accepted. */
function cutUnasked<T extends HttpAgent>(agent: T): T {
  const cut = function (this: Socket) {
    this.destroy();
  };
  const keepSocketAlive = agent.keepSocketAlive.bind(agent);
  const reuseSocket = agent.reuseSocket.bind(agent);
  agent.keepSocketAlive = (socket) => {
    // The types leave out what it returns (nodejs.org/api/http.html#agentkeepsocketalivesocket).
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

/** Sends a body chunk by chunk, until it ends or a reply begins. */
async function sendChunks(outgoing: ClientRequest, { chunks }: StreamedBody, sent: { bytes: number }): Promise<void> {
  const over = new Promise<false>((resolve) => {
    outgoing.once('response', () => resolve(false));
    outgoing.once('close', () => resolve(false));
  });
  for await (const chunk of chunks()) {
    sent.bytes += chunk.length;
    // The callback comes once the chunk may be overwritten.
    const written = new Promise<true>((resolve) => outgoing.write(chunk, () => resolve(true)));
    if (!(await Promise.race([written, over]))) return;
  }
  outgoing.end();
}

/** Finds a fault in the head of a reply. */
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
