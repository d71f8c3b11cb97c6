import { hash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createSecureContext, createServer as createTlsServer, type SecureContext, type Server as TlsServer } from 'node:tls';
import { catching } from '../catching.ts';
import type { Clock } from '../clock.ts';
import { listen, serverUrl } from '../listen.ts';
import type { Log } from '../log.ts';
import { selfSignedCertificate } from './certificates.ts';

const challengePrefix = '/.well-known/acme-challenge/';
const tokenPattern = /^[\w-]{22,200}$/;

/**
 * Maximum number of connections, and timeouts in milliseconds for the header section and for the whole request. They are low, because
 * requests for challenges are short.
 */
const maxConnections = 1000;
const limits = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1000, maxHeaderSize: 16 * 1024 };

export interface ChallengeSources {
  /**
   * Returns the key authorization for the token of a running challenge; undefined for other tokens.
   *
   * @throws ServiceError `unavailable` if the store of running challenges cannot be read
   */
  find(token: string): Promise<string | undefined>;
  /** Returns the origin that serves a domain; undefined if no service serves it. */
  originOf(domain: string): string | undefined;
}

/** A server without TLS that answers HTTP challenges (RFC 8555 §8.3) and redirects other GET and HEAD requests to https. */
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
    // `Server.maxConnections` is not set, because node:cluster would pass surplus connections from node to node without end.
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

  /** @throws ServiceError `unavailable` with the address, if it is in use or not permitted */
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
      // A request with another method may have content or credentials. After a redirect, the client would send them a second time.
      if (method !== 'GET' && method !== 'HEAD')
        return this.#end(outgoing, 405, 'Only GET and HEAD are answered here; use https.', { allow: 'GET, HEAD' });
      const path = url.split('?', 1)[0] as string;
      if (path.startsWith(challengePrefix)) {
        const token = path.slice(challengePrefix.length);
        const found = tokenPattern.test(token) ? await this.#sources.find(token) : undefined;
        return this.#end(outgoing, found === undefined ? 404 : 200, found ?? 'There is no such challenge.');
      }
      const origin = this.#sources.originOf((headers.host ?? '').replace(/:\d{1,5}$/, '').toLowerCase());
      // A redirect must not lead to a host that the client made up, so an unknown name in `Host` gets 404.
      if (origin === undefined) return this.#end(outgoing, 404, 'This name is not served here.');
      const target = /^\/[!-~]*$/.test(url) ? url : '/';
      this.#end(outgoing, 308, 'Use https.', { location: `${origin}${target}` });
    } catch (reason) {
      this.#log.warn('a challenge cannot be looked up', { reason });
      this.#end(outgoing, 503, 'Try again later.', { 'retry-after': '5' });
    }
  }

  #end(outgoing: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
    // The body is exactly the text, without a line break, because authorities compare it byte by byte.
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

/** The protocol of TLS challenges (RFC 8737). */
const protocol = 'acme-tls/1';

/** The extension by which a client offers only this protocol (RFC 7301 §3.1, RFC 8737 §4). */
const onlyProtocol = Buffer.concat([Buffer.from('0010000d000b0a', 'hex'), Buffer.from(protocol)]);

const handshakeRecord = 22;
const recordHeaderBytes = 5;

/** Maximum size of the first record in bytes. Anything longer is not a record (RFC 8446 §5.1). */
const maxRecordBytes = 2 ** 14 + recordHeaderBytes;

/** Maximum time in milliseconds for a client to send its first record. */
const firstRecordMs = 10_000;

/**
 * Returns whether the bytes contain the client's complete first record, whose extensions list the offered protocols. Also returns true if
 * the bytes can no longer become a record.
 */
function isWhole(bytes: Buffer): boolean {
  if (bytes.length === 0) return false;
  if (bytes[0] !== handshakeRecord || bytes.length >= maxRecordBytes) return true;
  return bytes.length >= recordHeaderBytes && bytes.length >= recordHeaderBytes + bytes.readUInt16BE(3);
}

/** Answers TLS challenges (RFC 8737) on the connections of an https service. All other connections are passed on unchanged. */
export class TlsChallenges {
  readonly #find: (domain: string) => Promise<string | undefined>;
  readonly #clock: Clock;
  readonly #server: TlsServer;

  /** @param find returns the key authorization for the running challenge of a domain; undefined if there is none */
  constructor(find: (domain: string) => Promise<string | undefined>, clock: Clock) {
    this.#find = find;
    this.#clock = clock;
    const SNICallback = (name: string, done: (error: Error | null, context?: SecureContext) => void) => {
      this.#contextOf(name.toLowerCase()).then((context) => done(null, context), done);
    };
    this.#server = createTlsServer({ ALPNProtocols: [protocol], SNICallback, handshakeTimeout: firstRecordMs });
    this.#server.on('tlsClientError', (_, socket) => socket.destroy());
    // The authority needs only the handshake, so the connection ends after it.
    this.#server.on('secureConnection', (socket) => socket.on('error', () => {}).end());
  }

  /**
   * Reads the first record of a connection. Answers a challenge, and leaves any other connection to `passOn`.
   *
   * @param passOn called if the connection is not for a challenge. By then, all received bytes have been put back into the socket
   */
  sort(socket: Socket, passOn: () => void): void {
    const chunks: Buffer[] = [];
    const cut = () => void socket.destroy();
    const end = catching(() => {
      timer.cancel();
      socket.off('readable', look).off('error', onError).off('close', end);
    }, cut);
    const onError = catching(cut, () => {});
    const look = catching(() => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) chunks.push(chunk as Buffer);
      const bytes = Buffer.concat(chunks);
      if (!isWhole(bytes)) return;
      end();
      socket.unshift(bytes);
      if (bytes.includes(onlyProtocol)) this.#server.emit('connection', socket);
      else passOn();
    }, cut);
    const timer = this.#clock.after(firstRecordMs, cut);
    socket.on('readable', look).on('error', onError).on('close', end);
  }

  async #contextOf(domain: string): Promise<SecureContext> {
    const found = domain.length <= 253 ? await this.#find(domain) : undefined;
    if (found === undefined) throw new Error('no challenge of this name is under way');
    const challengeDigest = hash('sha256', found, 'buffer');
    const pem = selfSignedCertificate([domain], { nowMs: this.#clock.nowMs(), lastsDays: 7, challengeDigest });
    return createSecureContext({ cert: pem, key: pem });
  }
}
