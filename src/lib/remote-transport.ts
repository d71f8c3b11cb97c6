import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { rootCertificates } from 'node:tls';
import { systemErrorCode } from './errors.ts';

/** Connections kept to one endpoint while idle. */
const mostIdleConnections = 64;

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
  const keepAlive = { keepAlive: true, maxFreeSockets: mostIdleConnections, scheduling: 'lifo' } as const;
  const httpAgent = new HttpAgent(keepAlive);
  const httpsAgent = new HttpsAgent({ ...keepAlive, ...(caPem === undefined ? {} : { ca: [...rootCertificates, caPem] }) });

  function send(url: URL, init: RequestInit, isRepeat: boolean): Promise<Response> {
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
      outgoing.on('error', (error) => {
        // A kept-alive connection that the other side closed just now says nothing about the endpoint.
        const wasStale = outgoing.reusedSocket && !isRepeat && ['ECONNRESET', 'EPIPE'].includes(systemErrorCode(error) ?? '');
        if (wasStale) send(url, init, true).then(resolve, reject);
        else reject(error);
      });
      outgoing.end(init.body as string | Buffer | undefined);
    });
  }

  return {
    fetch: (input, init = {}) => send(new URL(String(input)), init, false),
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
