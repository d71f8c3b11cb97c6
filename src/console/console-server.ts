import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { PasswordVerifier } from '../accounts/passwords.ts';
import { type ConsoleOptions, usesTls } from '../config/schema/console-options.ts';
import type { EventComponent } from '../events/event.ts';
import { clientPeer } from '../http/connection/client-peer.ts';
import { PendingReplies } from '../http/connection/pending-replies.ts';
import { garbageReply, headerLimitBytes } from '../http/connection/refusals.ts';
import { hasSameAuthorities, nextTlsContext, readTlsContext, type TlsContext, TlsWatch } from '../http/connection/tls-context.ts';
import { isClientGone } from '../http/reply/outgoing.ts';
import { requestTrace } from '../http/request/request-trace.ts';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import { catching } from '../lib/catching.ts';
import { systemErrorCode } from '../lib/errors.ts';
import { acceptAnyHead, authority, isFaultilyFramed, listen } from '../lib/listen.ts';
import { createConsoleApp } from './console-app.ts';
import type { ConsoleExchange, ConsoleService } from './environment.ts';
import { EventStreams } from './event-stream.ts';
import { LiveFeed } from './live-feed.ts';
import { Administrators } from './login/administrators.ts';
import { AdministratorSessions, LoginLinks } from './login/sessions.ts';

/** A client has so long to send its header section, and so long for the whole request, in milliseconds. */
const headerTimeoutMs = 30_000;
const requestTimeoutMs = 60_000;

/** A connection that nothing is asked on is closed after so long, in milliseconds. */
const keepAliveTimeoutMs = 60_000;

/** A client that was refused has so long to read why, in milliseconds. */
const refusedMs = 1000;

/** After a change of the authorities of client certificates connections end after so long, in milliseconds. */
const leaveMs = 1000;

/** What consoles have of the server. */
export type ConsoleDependencies = Pick<ConsoleService, 'sources' | 'samples' | 'attempts' | 'events' | 'clock' | 'log'> & {
  passwords: PasswordVerifier;
};

/** The listening side of one `console` service, with its sessions; outlives reloads that keep its address. */
export class ConsoleServer {
  readonly #dependencies: ConsoleDependencies;
  readonly #links: LoginLinks;
  readonly #sessions: AdministratorSessions;
  readonly #streams: EventStreams;
  readonly #live: LiveFeed;
  #service: ConsoleService;
  readonly #server: Server | HttpsServer;
  readonly #sockets = new Set<Socket>();
  readonly #pending = new PendingReplies((error, outgoing) => this.#cut(error, outgoing));
  #tlsWatch: TlsWatch | undefined;
  #tlsContext: TlsContext | undefined;

  /** @throws ServiceError `unavailable` when the TLS files cannot be used */
  constructor(uuid: string, options: ConsoleOptions, dependencies: ConsoleDependencies) {
    this.#dependencies = dependencies;
    this.#links = new LoginLinks(dependencies.clock);
    this.#sessions = new AdministratorSessions(
      dependencies.clock,
      () => this.#lifetimes,
      (session) => this.#streams.endSession(session),
    );
    this.#streams = new EventStreams(dependencies.clock, {
      onBeat: (session) => this.#sessions.touch(session),
      isInForce: (administrator) => this.#service.administrators.knows(administrator),
    });
    this.#live = new LiveFeed(() => dependencies.sources.overview(), dependencies.samples, dependencies);
    this.#service = this.#make(uuid, options);
    this.#server = this.#createServer();
    this.#server.headersTimeout = headerTimeoutMs;
    this.#server.requestTimeout = requestTimeoutMs;
    this.#server.keepAliveTimeout = keepAliveTimeoutMs;
    const cut = (_: unknown, __: unknown, socket: Socket) => socket.destroy();
    this.#server.on(
      'clientError',
      catching((error: Error, socket: Socket) => this.#refuseGarbage(error, socket), cut),
    );
    this.#server.on('connection', (socket: Socket) => {
      // Not by `maxConnections`: node:cluster would hand the connection to this process again, for ever.
      if (this.#sockets.size >= this.#service.options.maximum_concurrent_connections) return void socket.destroy();
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  get component(): EventComponent {
    return this.#service.component;
  }

  /**
   * Begins to accept connections.
   *
   * @throws ServiceError `unavailable` naming the address when it is in use or not permitted
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

  /** The address that clients use, with the port that the system chose for port 0. */
  get url(): string {
    const { options } = this.#service;
    return `${usesTls(options) ? 'https' : 'http'}://${authority(options.address, this.port)}`;
  }

  /** The port that it listens on. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Whether `replace` can take over such options: same address, and TLS as before. */
  keepsListening(options: ConsoleOptions): boolean {
    const { address, port, tls_client_ca_path, ...rest } = this.#service.options;
    return (
      address === options.address &&
      port === options.port &&
      usesTls(rest) === usesTls(options) &&
      // Node.js fixes with the listener whether it asks for certificates.
      (tls_client_ca_path === '') === (options.tls_client_ca_path === '')
    );
  }

  /** @throws ServiceError `unavailable` when `replace` could not take over such options */
  checkReplaceable(options: ConsoleOptions): void {
    if (usesTls(options)) readTlsContext(options, this.#service.clock.nowMs());
  }

  /**
   * Takes over new options; requests under way keep the old ones. Who is no administrator as before any more is logged out.
   *
   * @returns how many sessions and streams ended by that
   */
  replace(options: ConsoleOptions): { sessions: number; transfers: number } {
    const { options: before, clock } = this.#service;
    const context = this.#tlsContext && nextTlsContext(before, options, this.#tlsContext, clock.nowMs());
    this.#service = this.#make(this.#service.uuid, options);
    if (context) this.#useTls(context);
    this.#tlsWatch?.look(true);
    // A session that ends would take its streams along, uncounted.
    const transfers = this.#streams.keepOnly();
    return { sessions: this.#sessions.keepOnly(this.#service.administrators), transfers };
  }

  /** A URL that logs an administrator (by name) in without a password: once, within five minutes. */
  loginLink(administrator: string): string {
    // What stands in the fragment is sent to nobody, and in no log.
    return `${this.url}/#token=${this.#links.issue(administrator)}`;
  }

  /** Ends everything at once: nothing here takes long that matters. */
  async close(): Promise<void> {
    this.#tlsWatch?.cancel();
    this.#sessions.close();
    this.#streams.close();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #make(uuid: string, options: ConsoleOptions): ConsoleService {
    const { passwords, ...dependencies } = this.#dependencies;
    const { client_forwarded_header: header } = options;
    return {
      ...dependencies,
      uuid,
      options,
      component: { uuid, type: options.type, name: options.name || uuid },
      administrators: new Administrators(options.administrators, passwords),
      sessions: this.#sessions,
      links: this.#links,
      streams: this.#streams,
      live: this.#live,
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
      const serverOptions = { ...options, maxHeaderSize: headerLimitBytes, noDelay: true, connectionsCheckingInterval: 1000 };
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

  // Behind the beginning of a reply the client would take another for its content.
  #refuseGarbage(error: Error, socket: Socket): void {
    if (!socket.writable || systemErrorCode(error) === 'ECONNRESET' || this.#pending.isReplying(socket)) return void socket.destroy();
    socket.end(garbageReply(error, 'svc').reply);
    // Node.js waits for the client's end, however long it takes.
    this.#service.clock.after(refusedMs, () => socket.destroy());
  }

  /** Ends a reply that its request's own handling could not: nothing else may end with it. */
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
    // Those who came with a certificate of an authority that may count no more come again; the reply to a reload is still sent.
    const before = [...this.#sockets];
    this.#service.clock.after(leaveMs, () => {
      for (const socket of before) socket.destroy();
    });
  }
}
