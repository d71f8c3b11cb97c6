import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { catching } from '../../lib/catching.ts';
import { listen, serverUrl } from '../../lib/listen.ts';
import type { Log } from '../../lib/log.ts';

const challengePrefix = '/.well-known/acme-challenge/';
const tokenPattern = /^[\w-]{22,200}$/;

/** Maximum number of connections, and timeouts for the header section and a whole request in milliseconds: challenges are short. */
const maxConnections = 1000;
const limits = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1000, maxHeaderSize: 16 * 1024 };

/** Where to find what a plain HTTP server answers. */
export interface ChallengeSources {
  /** The key authorization of a token, while an authority may look. @throws ServiceError `unavailable` */
  find(token: string): Promise<string | undefined>;
  /** The origin that serves a domain; undefined for a domain that is not served. */
  originOf(domain: string): string | undefined;
}

/** A server without TLS that answers HTTP challenges (RFC 8555 §8.3), redirects everything else to https, and does nothing more. */
export class ChallengeServer {
  readonly #address: { address: string; port: number };
  readonly #server: Server;
  readonly #log: Log;
  #sources: ChallengeSources;

  constructor(address: { address: string; port: number }, sources: ChallengeSources, log: Log) {
    this.#address = address;
    this.#sources = sources;
    this.#log = log;
    this.#server = createServer(limits, (incoming, outgoing) => void this.#answer(incoming, outgoing));
    let open = 0;
    // Not by `maxConnections`: node:cluster would pass the surplus between nodes for ever.
    this.#server.on('connection', (socket) => {
      if (open >= maxConnections) return void socket.destroy();
      open++;
      const onClose = catching(
        () => void open--,
        () => {},
      );
      socket.once('close', onClose);
    });
  }

  /** @throws ServiceError `unavailable` naming the address when it is in use or not permitted */
  listen(): Promise<void> {
    const onError = (reason: Error) => this.#log.error('server error', { service: 'acme', reason });
    return listen(this.#server, { type: 'acme', ...this.#address }, onError);
  }

  get url(): string {
    return serverUrl('http', this.#server);
  }

  replace(sources: ChallengeSources): void {
    this.#sources = sources;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    incoming.resume();
    try {
      const { method = '', url = '', headers } = incoming;
      // Requests with another method may carry content or credentials, which the client would send a second time after a redirect.
      if (method !== 'GET' && method !== 'HEAD')
        return this.#end(outgoing, 405, 'Only GET and HEAD are answered here; use https.', { allow: 'GET, HEAD' });
      const path = url.split('?', 1)[0] as string;
      if (path.startsWith(challengePrefix)) {
        const token = path.slice(challengePrefix.length);
        const found = tokenPattern.test(token) ? await this.#sources.find(token) : undefined;
        return this.#end(outgoing, found === undefined ? 404 : 200, found ?? 'There is no such challenge.');
      }
      const origin = this.#sources.originOf((headers.host ?? '').replace(/:\d{1,5}$/, '').toLowerCase());
      // The Host header must not choose the target of the redirect.
      if (origin === undefined) return this.#end(outgoing, 404, 'This name is not served here.');
      const target = /^\/[!-~]*$/.test(url) ? url : '/';
      this.#end(outgoing, 308, 'Use https.', { location: `${origin}${target}` });
    } catch (reason) {
      this.#log.warn('a challenge cannot be looked up', { reason });
      this.#end(outgoing, 503, 'Try again later.', { 'retry-after': '5' });
    }
  }

  #end(outgoing: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
    // Exactly the text, as authorities compare it.
    outgoing.writeHead(status, {
      ...headers,
      'content-type': status === 200 ? 'application/octet-stream' : 'text/plain; charset=utf-8',
      'content-length': String(Buffer.byteLength(text)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      connection: 'close',
    });
    outgoing.end(outgoing.req.method === 'HEAD' ? undefined : text);
  }
}
