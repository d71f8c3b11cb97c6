import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import tls from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { latin1ToUtf8 } from '../headers/header-fields.ts';

/** Connections kept to one endpoint while idle. */
const maxIdleConnections = 64;

/** URLs whose parts are remembered; an endpoint has a few. */
const maxKnownUrls = 100;

/**
 * How long a connection is kept while idle: less than the servers that people run keep theirs (2 s and more). So a request
 * hardly ever meets a connection that the other side is closing, and none has to be sent twice to be sure: a POST that
 * failed may have been taken (RFC 9110 §9.2.2), and only the configuration says whether it is repeated.
 */
const longestIdleMs = 1500;

/** The connection ended before the reply did. */
export class CutShortError extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('the connection was closed before the reply was complete');
  }
}

/** What a request is made of, beside what `fetch` knows. */
export interface TransportInit extends RequestInit {
  /** Header lines, sent as they are written. */
  headerLines?: Record<string, string>;
  /** Gets the request as soon as there is one, to give it up. */
  onOutgoing?: (outgoing: ClientRequest) => void;
}

/** What ofetch hands on of a `Response`, and the reply itself. */
export interface TransportResponse extends Pick<Response, 'status' | 'statusText'> {
  /** The reply, its body unread; undefined for statuses that have no body. */
  incoming?: IncomingMessage | undefined;
  /** Header lines as sent, names in lower case. */
  headerLines?: [string, string][];
}

/**
 * `fetch` over node:http and node:https: one pool of kept-alive connections, certificate authorities of our own, and no web
 * streams, which cost more than everything else of a small request.
 */
export interface Transport {
  fetch: typeof globalThis.fetch;
  /** Closes the connections. */
  close(): void;
}

// These statuses have no body, whatever their headers say (RFC 9112 §6.3).
const nullBodyStatuses = new Set([204, 304]);

/**
 * Makes a transport.
 *
 * @param caPem certificate authorities in PEM, trusted beside the system's
 */
export function createTransport(caPem?: string): Transport {
  const keepAlive = { keepAlive: true, maxFreeSockets: maxIdleConnections, scheduling: 'lifo', timeout: longestIdleMs } as const;
  const httpAgent = new HttpAgent(keepAlive);
  const httpsAgent = new HttpsAgent({ ...keepAlive, ...(caPem === undefined ? {} : { ca: [...tls.rootCertificates, caPem] }) });
  const known = new Map<string, RequestOptions>();

  function partsOf(text: string): RequestOptions {
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
      const parts = partsOf(url);
      const isTls = parts.protocol === 'https:';
      const options: RequestOptions = {
        ...parts,
        method: init.method ?? 'GET',
        headers: init.headerLines ?? {},
        agent: isTls ? httpsAgent : httpAgent,
      };
      const outgoing = (isTls ? httpsRequest : httpRequest)(options, (incoming) => {
        hasReply = true;
        const fault = faultIn(incoming);
        if (fault === undefined) return resolve(responseOf(incoming));
        incoming.destroy();
        reject(new RangeError(fault));
      });
      outgoing.on('error', reject);
      // Node.js drops a 101 without a word when nobody listens.
      outgoing.on('upgrade', (_reply, socket) => {
        socket.destroy();
        reject(new RangeError('the status 101 switches to a protocol that nobody asked for'));
      });
      outgoing.on('close', () => {
        // An error takes its stack from all that is under way: it is made for those who need it.
        if (!hasReply) reject(new CutShortError());
      });
      init.onOutgoing?.(outgoing);
      outgoing.end(init.body as string | Buffer | undefined);
    });
  }

  return {
    fetch: async (input, init: TransportInit = {}) => (await send(String(input), init)) as Response,
    close() {
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

/** What is wrong with the head of a reply. */
function faultIn({ statusCode = 0, httpVersion, httpVersionMajor, headers }: IncomingMessage): string | undefined {
  if (statusCode < 200 || statusCode > 599) return `the status ${statusCode} is none of HTTP`;
  if (httpVersionMajor !== 1) return `the version ${httpVersion} is none of HTTP/1`;
  const coding = headers['transfer-encoding'] ?? 'chunked';
  return coding.toLowerCase() === 'chunked' ? undefined : `the transfer coding "${coding}" is none that was asked for`;
}

function responseOf(incoming: IncomingMessage): TransportResponse {
  const status = incoming.statusCode ?? 0;
  const headerLines: [string, string][] = [];
  for (let index = 0; index < incoming.rawHeaders.length; index += 2)
    headerLines.push([(incoming.rawHeaders[index] as string).toLowerCase(), incoming.rawHeaders[index + 1] as string]);
  const hasNoBody = nullBodyStatuses.has(status);
  if (hasNoBody) incoming.resume();
  const reason = incoming.statusMessage ?? '';
  // A reason in UTF-8 is shown as such.
  return { status, statusText: latin1ToUtf8(reason) ?? reason, headerLines, incoming: hasNoBody ? undefined : incoming };
}
