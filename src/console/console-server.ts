import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { PasswordVerifier } from '../accounts/passwords.ts';
import {
  contextEndMs,
  hasSameAuthorities,
  nextTlsContext,
  readTlsContext,
  type TlsContext,
  TlsWatch,
} from '../certificates/tls-context.ts';
import { type ConsoleOptions, usesTls } from '../config/schema/console-options.ts';
import type { EventComponent } from '../events/event.ts';
import { clientPeer } from '../http/connection/client-peer.ts';
import { garbageReply, headerLimitBytes } from '../http/connection/refusals.ts';
import { isClientGone } from '../http/reply/outgoing.ts';
import { requestTrace } from '../http/request/request-trace.ts';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import { catching } from '../lib/catching.ts';
import { systemErrorCode } from '../lib/errors.ts';
import { acceptAnyHead, authority, isFaultilyFramed, listen } from '../lib/listen.ts';
import { PendingReplies } from '../lib/pending-replies.ts';
import { createConsoleApp } from './console-app.ts';
import type { ConsoleExchange, ConsoleService } from './environment.ts';
import { EventStreams } from './event-stream.ts';
import { LiveFeed } from './live-feed.ts';
import { Administrators } from './login/administrators.ts';
import { AdministratorSessions, LoginLinks } from './login/sessions.ts';

const timeouts = { headersTimeout: 30_000, requestTimeout: 60_000, keepAliveTimeout: 60_000 };

/** Time in milliseconds after which the connection of a refused client is closed. The client can read the reply in this time. */
const refusedMs = 1000;

/** When the authorities of client certificates change, connections are ended after this time in milliseconds. */
const leaveMs = 1000;

export type ConsoleDependencies = Pick<ConsoleService, 'sources' | 'samples' | 'attempts' | 'events' | 'clock' | 'log'> & {
  passwords: PasswordVerifier;
};

/**
 * The listening side of one `console` service, with its sessions. A reload keeps this object if `keepsListening` returns true. Otherwise,
 * the reload creates a new object.
 */
export class ConsoleServer {
  readonly #passwords: PasswordVerifier;
  #service: ConsoleService;
  readonly #server: Server | HttpsServer;
  readonly #sockets = new Set<Socket>();
  readonly #pending = new PendingReplies((error, outgoing) => this.#cut(error, outgoing));
  #tlsWatch: TlsWatch | undefined;
  #tlsContext: TlsContext | undefined;

  /** @throws ServiceError `unavailable` if the TLS files cannot be used */
  constructor(uuid: string, options: ConsoleOptions, dependencies: ConsoleDependencies) {
    const { passwords, ...parts } = dependencies;
    const { clock, sources, samples } = parts;
    const sessions = new AdministratorSessions(
      clock,
      () => this.#lifetimes,
      (session) => streams.endSession(session),
    );
    const streams = new EventStreams(clock, {
      onBeat: (session) => sessions.touch(session),
      isInForce: (administrator) => this.#service.administrators.knows(administrator),
    });
    const live = new LiveFeed(() => sources.overview(), samples, parts);
    this.#passwords = passwords;
    this.#service = { ...parts, uuid, sessions, streams, live, links: new LoginLinks(clock), ...this.#configure(uuid, options) };
    this.#server = this.#createServer();
    const cut = (_: unknown, __: unknown, socket: Socket) => socket.destroy();
    this.#server.on(
      'clientError',
      catching((error: Error, socket: Socket) => this.#refuseGarbage(error, socket), cut),
    );
    this.#server.on('connection', (socket: Socket) => {
      // Do not use `maxConnections` for this: node:cluster would pass the connection to this process again and again.
      if (this.#sockets.size >= this.#service.options.maximum_concurrent_connections) return void socket.destroy();
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  get component(): EventComponent {
    return this.#service.component;
  }

  /**
   * Starts to accept connections.
   *
   * @throws ServiceError `unavailable`, which names the address, if the address is in use or not permitted
   */
  async listen(): Promise<void> {
    const onError = (reason: Error) => this.#service.log.error('server error', { service: this.#service.uuid, reason });
    await listen(this.#server, this.#service.options, onError);
    if (!('setSecureContext' in this.#server)) return;
    this.#tlsWatch = new TlsWatch(
      () => this.#service,
      () => this.#useTls(readTlsContext(this.#service.options, this.#service.clock.nowMs(), this.#tlsContext)),
    );
  }

  /** The URL under which clients reach the console. If the configured port is 0, the URL contains the port that the system chose. */
  get url(): string {
    const { options } = this.#service;
    return `${usesTls(options) ? 'https' : 'http'}://${authority(options.address, this.port)}`;
  }

  /** The expiry of the certificate in use, as Unix time in milliseconds; undefined without TLS. */
  get certificateEndMs(): number | undefined {
    return this.#tlsContext && contextEndMs(this.#tlsContext);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Returns whether `replace` can apply these options. It can if these options do not change the address, the use of TLS, or the use of
   * client certificates.
   */
  keepsListening(options: ConsoleOptions): boolean {
    const { address, port, tls_client_ca_path, ...rest } = this.#service.options;
    return (
      address === options.address &&
      port === options.port &&
      usesTls(rest) === usesTls(options) &&
      // Node.js decides only when it creates a listener whether this listener asks for client certificates.
      (tls_client_ca_path === '') === (options.tls_client_ca_path === '')
    );
  }

  /** @throws ServiceError `unavailable` if `replace` could not apply these options, because their TLS files cannot be used */
  checkReplaceable(options: ConsoleOptions): void {
    if (usesTls(options)) readTlsContext(options, this.#service.clock.nowMs());
  }

  /**
   * Applies new options. Requests under way are finished with the old options. Administrators who were changed or removed are logged out.
   *
   * @returns the number of ended sessions and streams
   */
  replace(options: ConsoleOptions): { sessions: number; transfers: number } {
    const { uuid, options: before, clock, sessions, streams } = this.#service;
    const context = this.#tlsContext && nextTlsContext(before, options, this.#tlsContext, clock.nowMs());
    this.#service = { ...this.#service, ...this.#configure(uuid, options) };
    if (context) this.#useTls(context);
    this.#tlsWatch?.check(true);
    // End the streams first. A session that ends also ends its streams, but does not count them.
    const transfers = streams.keepOnly();
    return { sessions: sessions.keepOnly(this.#service.administrators), transfers };
  }

  /** Returns a URL that logs in the administrator with this name, without a password. It can be used once, within five minutes. */
  loginLink(administrator: string): string {
    // A fragment is not sent to the server, so it does not appear in a log.
    return `${this.url}/#token=${this.#service.links.issue(administrator)}`;
  }

  /** Ends all connections without waiting for requests under way. */
  async close(): Promise<void> {
    this.#tlsWatch?.cancel();
    this.#service.sessions.close();
    this.#service.streams.close();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #configure(uuid: string, options: ConsoleOptions) {
    const { client_forwarded_header: header } = options;
    return {
      options,
      component: { uuid, type: options.type, name: options.name || uuid },
      administrators: new Administrators(options.administrators, this.#passwords),
      proxies: { header, isProxy: header === '' ? () => false : compileAddressRanges(options.trusted_proxies) },
    };
  }

  get #lifetimes() {
    const { idle_connection_timeout, session_maximum_age } = this.#service.options;
    return { idleMs: idle_connection_timeout * 1000, maximumAgeMs: session_maximum_age * 1000 };
  }

  #createServer(): Server | HttpsServer {
    const app = createConsoleApp();
    const exchanges = new WeakMap<object, ConsoleExchange>();
    const create = (options: object, listener: RequestListener) => {
      const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => {
        exchanges.set(incoming, this.#exchange(incoming, outgoing));
        acceptAnyHead(incoming);
        listener(incoming, outgoing);
      };
      const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => {
        if (isFaultilyFramed(incoming)) return void this.#refuseGarbage(new Error('Transfer-Encoding in HTTP/1.0'), incoming.socket);
        if (!this.#pending.add(incoming, outgoing, () => answer(incoming, outgoing))) incoming.socket.destroy();
      };
      const serverOptions = { ...options, ...timeouts, maxHeaderSize: headerLimitBytes, noDelay: true, connectionsCheckingInterval: 1000 };
      if (!usesTls(this.#service.options)) return createHttpServer(serverOptions, onRequest);
      const context = readTlsContext(this.#service.options, this.#service.clock.nowMs());
      this.#tlsContext = context;
      const needsCertificate = context.ca !== undefined;
      return createHttpsServer(
        { ...serverOptions, ...context, requestCert: needsCertificate, rejectUnauthorized: needsCertificate },
        onRequest,
      );
    };
    return createAdaptorServer({
      fetch: async (request, { incoming, outgoing }) => {
        const response = await app.fetch(request, exchanges.get(incoming));
        return outgoing.headersSent || isClientGone(outgoing as ServerResponse) ? RESPONSE_ALREADY_SENT : response;
      },
      hostname: 'console',
      overrideGlobalObjects: true,
      autoCleanupIncoming: false,
      createServer: create as typeof createHttpServer,
    }) as Server;
  }

  // Answers a malformed request. If a reply has begun on the connection, the client would read this answer as content of that reply, so the
  // connection is only cut.
  #refuseGarbage(error: Error, socket: Socket): void {
    if (!socket.writable || systemErrorCode(error) === 'ECONNRESET' || this.#pending.isReplying(socket)) return void socket.destroy();
    socket.end(garbageReply(error, 'svc').reply);
    // Without this limit, Node.js would wait until the client closes the connection.
    this.#service.clock.after(refusedMs, () => socket.destroy());
  }

  #cut(reason: unknown, outgoing: ServerResponse): void {
    this.#service.log.error('a request could not be answered', { service: this.#service.uuid, reason });
    outgoing.destroy();
  }

  #exchange(incoming: IncomingMessage, outgoing: ServerResponse): ConsoleExchange {
    const service = this.#service;
    const [path = '', ...query] = (incoming.url ?? '').split('?');
    return {
      service,
      incoming,
      outgoing,
      method: incoming.method ?? 'GET',
      path,
      query: new URLSearchParams(query.join('?')),
      host: incoming.headers.host,
      peer: clientPeer(incoming, service.proxies),
      request: requestTrace(incoming.headers),
      administrator: undefined,
      session: undefined,
    };
  }

  #useTls(context: TlsContext): void {
    (this.#server as HttpsServer).setSecureContext(context);
    const isSame = !this.#tlsContext || hasSameAuthorities(this.#tlsContext, context);
    this.#tlsContext = context;
    if (isSame) return;
    // Clients have to connect again, because their certificates are possibly no longer trusted. The delay leaves time to send the reply to
    // the reload.
    const before = [...this.#sockets];
    this.#service.clock.after(leaveMs, () => {
      for (const socket of before) socket.destroy();
    });
  }
}
