import type { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import type { TLSSocket, Server as TlsServer } from 'node:tls';
import {
  contextEndMs,
  createTlsServer,
  hasSameAuthorities,
  nextTlsContext,
  readTlsContext,
  type TlsContext,
  TlsWatch,
} from '../../certificates/tls-context.ts';
import type { RequestTrace } from '../../events/event.ts';
import { processAccount } from '../../events/event-factory.ts';
import { reportInternalError } from '../../events/internal-error.ts';
import { TlsChallenges } from '../../lib/acme/challenges.ts';
import { catching } from '../../lib/catching.ts';
import { drainConnections, PendingWork } from '../../lib/concurrency/pending-work.ts';
import { Connections, endFloods } from '../../lib/connections.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import { listen, serverUrl } from '../../lib/listen.ts';
import { maxPending, PendingReplies } from '../../lib/pending-replies.ts';
import type { HttpServiceOptions } from '../options.ts';
import { findRequestId, type Outgoing } from '../reply/outgoing.ts';
import type { HttpService } from '../request/exchange.ts';
import type { StreamRequest } from '../request/incoming.ts';
import { createNodeServer, findExchange } from './node-server.ts';
import { garbageReply, headerLimitBytes, noteGarbage, refuseExpectation, refuseFlood } from './refusals.ts';

const headerTimeoutMs = 30_000;

/** Interval at which a drain closes idle connections. */
const drainStepMs = 50;

const ofSocket = (socket: Socket) => socket;
const ofFailed = (_: Error, socket: Socket) => socket;

/** The listening side of one HTTP or HTTPS service. It survives reloads that keep its address. */
export class HttpServer {
  #service: HttpService;
  readonly #http1: Server;
  /** The server that listens: `#http1` itself for http; for https, a TCP server that passes its connections to `#tls`. */
  readonly #server: Server | NetServer;
  /** Makes the TLS handshakes. It is replaced for new certificates, TLS options or ticket keys, because it cannot change all of them. */
  #tls: TlsServer | undefined;
  readonly #answerStream: (request: StreamRequest, expectsContinue: boolean) => void;
  readonly #connections = new Connections((error, victim) => this.#cut(error, victim));
  readonly #streams = new Set<Outgoing>();
  #tlsContext: TlsContext | undefined;
  #tlsWatch: TlsWatch | undefined;
  readonly #tlsChallenges: TlsChallenges;
  #forgetTickets: (() => void) | undefined;
  #isLeaving = false;
  #requests = 0;
  /**
   * The requests that are being answered. A drain waits for them, too: after the connection of an upload has broken, the code that handles
   * the upload still has work, such as emitting the event.
   */
  readonly #answering = new PendingWork();
  readonly #pending = new PendingReplies((error, outgoing) => this.#cut(error, outgoing));

  /** @throws ServiceError `unavailable` if the TLS files cannot be used */
  constructor(service: HttpService) {
    this.#service = service;
    this.#tlsChallenges = new TlsChallenges(async (domain) => this.#service.tlsChallenge?.(domain), service.clock);
    const { server, answer, answerStream } = createNodeServer(() => this.#service, this.#answering);
    this.#http1 = server;
    this.#answerStream = answerStream;
    if (service.options.type === 'https') this.#useTls(readTlsContext(service.options, service.clock.nowMs()));
    this.#server = this.#tls ? createServer({ noDelay: true }) : server;
    const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void => {
      this.#requests++;
      const isTaken = this.#pending.add(incoming, outgoing, () => answer(incoming, outgoing, expectsContinue));
      if (!isTaken) refuseFlood(this.#service, incoming, outgoing);
    };
    const reply = (_: IncomingMessage, outgoing: ServerResponse) => outgoing;
    const beginning = (incoming: IncomingMessage, outgoing: ServerResponse) => {
      if (this.#isLeaving) outgoing.setHeader('connection', 'close');
      onRequest(incoming, outgoing, false);
    };
    this.#on(server, 'request', beginning, reply);
    this.#on(server, 'checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => onRequest(incoming, outgoing, true), reply);
    this.#on(
      server,
      'checkExpectation',
      (incoming: IncomingMessage, outgoing: ServerResponse) => refuseExpectation(this.#service, incoming, outgoing),
      reply,
    );
    this.#on(server, 'clientError', (error: Error, socket: Socket) => this.#refuseGarbage(error, socket), ofFailed);
    this.#on(this.#server, 'connection', (socket: Socket) => this.#accept(socket), ofSocket);
    this.#applyLimits();
  }

  /** Starts to accept connections. @throws ServiceError `unavailable`, which names the address, if it is in use or not permitted */
  async listen(): Promise<void> {
    if (this.#tls) this.#forgetTickets = this.#service.tickets.onRenewal(() => this.#useTls(this.#tlsContext as TlsContext));
    const onError = (reason: Error) => this.#service.log.error('server error', { service: this.#service.uuid, reason });
    try {
      await listen(this.#server, this.#service.options, onError);
    } catch (error) {
      this.#forgetTickets?.();
      throw error;
    }
    if (!this.#tls) return;
    // The HTTP/1 server starts its timeouts at this event. With https the event would never come, because another server listens.
    this.#http1.emit('listening');
    this.#tlsWatch = new TlsWatch(
      () => this.#service,
      () => this.#useTls(readTlsContext(this.#service.options, this.#service.clock.nowMs(), this.#tlsContext)),
    );
  }

  /** The URL under which clients reach the server. If the configured port is 0, the URL has the port that the system chose. */
  get url(): string {
    return serverUrl(this.#service.options.type, this.#server);
  }

  get traffic(): Connections['traffic'] & { requests: number } {
    return { ...this.#connections.traffic, requests: this.#requests };
  }

  /** The expiry of the certificate in use, as Unix time in milliseconds; undefined without TLS. */
  get certificateEndMs(): number | undefined {
    return this.#tlsContext && contextEndMs(this.#tlsContext);
  }

  /** Continues to serve, but closes each connection after the next reply, so that clients and proxies switch to another node. */
  leave(): void {
    this.#isLeaving = true;
    this.#connections.goAway();
  }

  get service(): HttpService {
    return this.#service;
  }

  /** Checks options before `replace`. @throws ServiceError `unavailable` if `replace` could not apply them */
  checkReplaceable(options: HttpServiceOptions): void {
    if (options.type === 'https') readTlsContext(options, this.#service.clock.nowMs());
  }

  /** Applies new options. Requests under way keep the old options. */
  replace(service: HttpService): void {
    const context = this.#tlsContext && nextTlsContext(this.#service.options, service.options, this.#tlsContext, service.clock.nowMs());
    this.#service = service;
    if (context) this.#useTls(context);
    this.#tlsWatch?.check(true);
    this.#applyLimits();
  }

  /** Called when a reload removes or replaces this server. From then on, the accounts of the new configuration apply to its requests. */
  follow(chain: HttpService['chain']): void {
    this.#service = { ...this.#service, chain };
  }

  /** Cuts the requests of clients whose account is no longer valid (`AuthChain.inForce`). @returns the IDs of the cut requests */
  cutOthers(): RequestTrace[] {
    const cut: RequestTrace[] = [];
    for (const outgoing of [...this.#pending.underWay(), ...this.#streams]) {
      const exchange = findExchange(outgoing);
      if (!exchange?.client || exchange.inForce(exchange.client.identity)) continue;
      cut.push(exchange.request);
      outgoing.destroy();
    }
    return cut;
  }

  /**
   * Stops accepting connections and lets requests finish. Cuts the remaining requests after `timeoutMs` or when `hurry` is aborted. Returns
   * when all have ended.
   * @returns whether all requests finished without being cut
   */
  async drain(timeoutMs: number, hurry: AbortSignal): Promise<boolean> {
    const { clock } = this.#service;
    this.#tlsWatch?.cancel();
    this.#forgetTickets?.();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#connections.closeHttp2();
    const closeIdle = () => this.#http1.closeIdleConnections();
    closeIdle();
    const stepper = clock.every(drainStepMs, closeIdle);
    const settled = () => this.#answering.ended();
    const inTime = await drainConnections(clock, { closed, settled, timeoutMs, hurry, cut: () => this.#connections.destroy() });
    stepper.cancel();
    // This also stops the timeouts of an HTTP/1 server that did not listen itself.
    this.#http1.close();
    return inTime;
  }

  #useTls(context: TlsContext): void {
    if (this.#tlsContext && !hasSameAuthorities(this.#tlsContext, context)) {
      this.#connections.distrust();
      this.#http1.closeIdleConnections();
    }
    const tls = createTlsServer(this.#service, context);
    this.#on(tls, 'tlsClientError', (error: Error, socket: Socket) => this.#refuseGarbage(error, socket), ofFailed);
    this.#on(tls, 'secureConnection', (socket: TLSSocket) => this.#handOver(socket), ofSocket);
    this.#tlsContext = context;
    this.#tls = tls;
  }

  #applyLimits(): void {
    const idleMs = this.#idleMs;
    const server = this.#http1;
    server.headersTimeout = headerTimeoutMs;
    // A large upload may take any length of time. If the upload stalls, the idle timeout ends it.
    server.requestTimeout = 0;
    server.keepAliveTimeout = idleMs;
    server.setTimeout(idleMs);
  }

  get #idleMs(): number {
    return this.#service.options.idle_connection_timeout * 1000;
  }

  // Bytes that the parser refused are not a request. They get a minimal reply and the connection ends.
  #refuseGarbage(error: Error, socket: Socket): void {
    if (systemErrorCode(error) === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const { message, reply } = garbageReply(error, String(this.#service.baseHeaders.server));
    noteGarbage(this.#service, socket, message);
    // In the middle of another reply, the client would read the error reply as content of that other reply.
    if (this.#pending.isReplying(socket)) return void socket.destroy();
    socket.end(reply);
    this.#service.clock.after(1000, () => socket.destroy());
  }

  #accept(socket: Socket): void {
    // Do not use `maxConnections` for this limit: node:cluster would pass the surplus connections from node to node for ever.
    if (this.#connections.count >= this.#service.options.maximum_concurrent_connections) return void socket.destroy();
    this.#connections.add(socket);
    if (!this.#tls) return;
    if (this.#service.tlsChallenge) this.#tlsChallenges.sort(socket, () => this.#tls?.emit('connection', socket));
    else this.#tls.emit('connection', socket);
  }

  #handOver(socket: TLSSocket): void {
    this.#connections.addSecure(socket);
    if (socket.alpnProtocol !== 'h2') return void this.#http1.emit('connection', socket);
    const onFault = (error: unknown, victim: { destroy(): void }) => this.#cut(error, victim);
    const session = speakHttp2(socket, { onRequest: (request) => this.#onStream(request), onFault });
    session.setTimeout(this.#idleMs, () => session.destroy());
    this.#connections.addHttp2(session);
    // Read the address now, because the socket may have lost it by the time a flood is reported.
    const { remoteAddress, remotePort } = socket;
    const onFlood = (what: string) => noteGarbage(this.#service, { remoteAddress, remotePort }, what);
    endFloods(session, this.#service.clock, onFlood, (error) => onFault(error, session));
  }

  #onStream(request: StreamRequest): void {
    this.#requests++;
    const { stream, headers } = request;
    this.#streams.add(stream);
    const onClose = catching(
      () => void this.#streams.delete(stream),
      (error) => this.#cut(error, stream),
    );
    stream.once('close', onClose);
    const { expect } = headers;
    const expectsContinue = expect !== undefined && /(?:^|\W)100-continue(?:$|\W)/i.test(expect);
    if (expect === undefined || expectsContinue) this.#answerStream(request, expectsContinue);
    else refuseExpectation(this.#service, request, stream);
  }

  /** Adds a listener to a server. If the listener throws, only the object that `victim` returns for the arguments is destroyed. */
  #on<Args extends unknown[]>(
    server: EventEmitter,
    event: string,
    listener: (...args: Args) => void,
    victim: (...args: Args) => { destroy(): void },
  ): void {
    const onFault = (error: unknown, ...args: Args) => this.#cut(error, victim(...args));
    server.on(event, catching(listener, onFault) as (...args: unknown[]) => void);
  }

  #cut(error: unknown, victim: { destroy(): void }): void {
    const { component } = this.#service;
    const context = () => ({ account: processAccount(), component });
    reportInternalError(this.#service, error, {
      logged: { request_id: findRequestId(victim as Outgoing) },
      context,
      data: { status: 500 },
    });
    victim.destroy();
  }
}

const options = {
  settings: { maxConcurrentStreams: maxPending, maxHeaderListSize: headerLimitBytes },
  maxSessionInvalidFrames: 100,
};

interface StreamListener {
  /** Called with each request whose stream has not been reset in the meantime. */
  onRequest(request: StreamRequest): void;
  /** Handles a fault in a listener that Node.js calls; must not throw. */
  onFault(error: unknown, victim: { destroy(): void }): void;
}

/**
 * Speaks HTTP/2 on a connection, with the core API of Node.js, because the compatibility API of Node.js makes small replies a third slower
 * (docs/design/costs.md).
 */
function speakHttp2(socket: Socket, { onRequest, onFault }: StreamListener): ServerHttp2Session {
  const session = performServerHandshake(socket, options);
  const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _: number, rawHeaders: readonly string[]) => {
    endWithClient(stream, (error) => onFault(error, stream));
    const request: StreamRequest = {
      httpVersionMajor: 2,
      httpVersionMinor: 0,
      method: headers[':method'],
      url: headers[':path'],
      headers,
      rawHeaders,
      socket,
      stream,
    };
    const begin = () => {
      if (!stream.destroyed) onRequest(request);
    };
    // Wait one turn of the event loop. If the client reset the stream in the same packet, the stream is gone by then and costs nothing
    // (CVE-2023-44487).
    setImmediate(catching(begin, (error) => onFault(error, stream)));
  };
  const listener = catching(onStream, (error, stream) => onFault(error, stream));
  session.on('stream', listener);
  return session;
}

/**
 * Ends a stream when the client has reset it without an error code. Otherwise, Node.js would keep the stream until the request is read. The
 * writer of the reply would not notice the reset, and files would stay open.
 */
function endWithClient(stream: ServerHttp2Stream, onFault: (error: unknown) => void): void {
  const onAborted = catching(() => stream.destroy(), onFault);
  stream.once('aborted', onAborted);
  // The client may cancel a stream, so this listener ignores the error. The writer of the reply learns of the end by itself.
  stream.on('error', () => {});
  if (stream.endAfterHeaders) stream.resume();
}
