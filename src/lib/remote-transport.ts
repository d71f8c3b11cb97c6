import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { rootCertificates } from 'node:tls';

/** Connections kept to one endpoint while idle. */
const mostIdleConnections = 64;

/**
 * How long a connection is kept while idle: less than the servers that people run keep theirs (2 s and more). So a request
 * hardly ever meets a connection that the other side is closing, and none has to be sent twice to be sure: a POST that
 * failed may have been taken (RFC 9110 §9.2.2), and only the configuration says whether it is repeated.
 */
const longestIdleMs = 1500;

/** `fetch` over node:http and node:https: one pool of kept-alive connections, certificate authorities of our own. */
export interface Transport {
  fetch: typeof globalThis.fetch;
  /** Closes idle connections. */
  close(): void;
}

// These statuses have no body (Fetch standard, "null body status").
const nullBodyStatuses = new Set([204, 205, 304]);

/**
 * Makes a transport.
 *
 * @param caPem certificate authorities in PEM, trusted beside the system's
 */
export function createTransport(caPem?: string): Transport {
  const keepAlive = { keepAlive: true, maxFreeSockets: mostIdleConnections, scheduling: 'lifo', timeout: longestIdleMs } as const;
  const httpAgent = new HttpAgent(keepAlive);
  const httpsAgent = new HttpsAgent({ ...keepAlive, ...(caPem === undefined ? {} : { ca: [...rootCertificates, caPem] }) });

  function send(url: URL, init: RequestInit): Promise<Response> {
    const isTls = url.protocol === 'https:';
    const options: RequestOptions = {
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      agent: isTls ? httpsAgent : httpAgent,
      ...(init.signal ? { signal: init.signal } : {}),
    };
    return new Promise((resolve, reject) => {
      const outgoing = (isTls ? httpsRequest : httpRequest)(url, options, (incoming) => {
        try {
          resolve(responseOf(incoming));
        } catch (error) {
          incoming.destroy();
          reject(error);
        }
      });
      outgoing.on('error', reject);
      outgoing.end(init.body as string | Buffer | undefined);
    });
  }

  return {
    fetch: (input, init = {}) => send(new URL(String(input)), init),
    close() {
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

function responseOf(incoming: IncomingMessage): Response {
  const headers = new Headers();
  for (let index = 0; index < incoming.rawHeaders.length; index += 2)
    headers.append(incoming.rawHeaders[index] as string, incoming.rawHeaders[index + 1] as string);
  const status = incoming.statusCode ?? 0;
  const hasNoBody = nullBodyStatuses.has(status);
  if (hasNoBody) incoming.resume();
  const body = hasNoBody ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
  return new Response(body, { status, statusText: incoming.statusMessage ?? '', headers });
}
