import type { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { processAccount } from '../../events/event-factory.ts';
import { noteInternalError } from '../../events/internal-error.ts';
import type { Timer } from '../../lib/clock.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { guarded } from '../../lib/guarded.ts';
import type { HttpServiceOptions } from '../options.ts';
import { errorsReply } from '../reply/error-reply.ts';
import { isHttp2, type Outgoing, requestIdOf } from '../reply/outgoing.ts';
import { sendReply } from '../reply/reply.ts';
import type { HttpService, Incoming } from '../request/exchange.ts';
import { Connections } from './connections.ts';
import { garbageReply } from './garbage-reply.ts';
import { endFloods } from './http2-floods.ts';
import { createNodeServer, tlsContextOf } from './node-server.ts';
import { mostPending, PendingReplies } from './pending-replies.ts';
import { readTlsContext } from './tls-context.ts';
import { watchTlsFiles } from './tls-watch.ts';

/** A client has so long to send its header section. */
const headerTimeoutMs = 30_000;

/** How often a drain looks for connections that became idle. */
const drainStepMs = 50;

/** The listening side of one HTTP or HTTPS service; outlives reloads that keep its address. */
export class HttpServer {
  #service: HttpService;
  readonly #server: Server | Http2SecureServer;
  readonly #connections = new Connections((error, victim) => this.#cut(error, victim));
  #tlsWatch: Timer | undefined;
  #isLeaving = false;
  readonly #pending = new PendingReplies((error, outgoing) => this.#cut(error, outgoing));

  /** @throws ServiceError `unavailable` when the TLS files cannot be used */
  constructor(service: HttpService) {
    this.#service = service;
    const { server, answer } = createNodeServer(() => this.#service);
    this.#server = server;
    const onRequest = (incoming: Incoming, outgoing: Outgoing, expectsContinue: boolean): void => {
      const congestion = this.#service.sharing?.congestion();
      if (congestion) {
        congestion.then(() => onRequest(incoming, outgoing, expectsContinue)).catch((error) => this.#cut(error, outgoing));
        return;
      }
      const isTaken = this.#pending.add(incoming, outgoing, () => answer(incoming, outgoing, expectsContinue));
      if (!isTaken) this.#refuseFlood(incoming, outgoing);
    };
    const reply = (_: Incoming, outgoing: Outgoing) => outgoing;
    const beginning = (incoming: Incoming, outgoing: Outgoing) => {
      if (this.#isLeaving && !isHttp2(outgoing)) outgoing.setHeader('connection', 'close');
      onRequest(incoming, outgoing, false);
    };
    this.#on('request', beginning, reply);
    this.#on('checkContinue', (incoming: Incoming, outgoing: Outgoing) => onRequest(incoming, outgoing, true), reply);
    this.#on('checkExpectation', (incoming: Incoming, outgoing: Outgoing) => this.#refuseExpectation(incoming, outgoing), reply);
    this.#on(
      'clientError',
      (error: Error, socket: Socket) => this.#refuseGarbage(error, socket),
      (_, socket) => socket,
    );
    this.#on(
      'connection',
      (socket: Socket) => this.#count(socket),
      (socket) => socket,
    );
    this.#on(
      'session',
      (session: ServerHttp2Session) => this.#watch(session),
      (session) => session,
    );
    this.#applyLimits();
  }

  /**
   * Begins to accept connections.
   *
   * @throws ServiceError `unavailable` naming the address when it is in use or not permitted
   */
  async listen(): Promise<void> {
    const { address, port, type } = this.#service.options;
    await new Promise<void>((resolve, reject) => {
      const onError = (error: Error) => {
        const reason = systemErrorCode(error) === 'EADDRINUSE' ? 'the port is in use by another process' : error.message;
        reject(new ServiceError('unavailable', `${type} service cannot listen on ${address}:${port}: ${reason}.`, { cause: error }));
      };
      this.#server.once('error', onError);
      this.#server.listen({ host: address, port, backlog: 4096 }, () => {
        this.#server.off('error', onError);
        this.#server.on('error', (error) => this.#service.log.error('server error', { service: this.#service.uuid, reason: error }));
        resolve();
      });
    });
    const { service } = this;
    if (service.options.type === 'https')
      this.#tlsWatch = watchTlsFiles(
        () => this.#service.options,
        service.clock,
        () => this.#renewTls(),
      );
  }

  /** The address that clients use, with the port that the system chose for port 0. */
  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    const host = address.includes(':') ? `[${address}]` : address;
    return `${this.#service.options.type}://${host}:${port}`;
  }

  /** Connections at present, and bytes on the wire so far. */
  get traffic(): Connections['traffic'] {
    return this.#connections.traffic;
  }

  /** Goes on serving, but has every reply end its connection, so that clients and proxies go elsewhere. */
  leave(): void {
    this.#isLeaving = true;
    this.#connections.goAway();
  }

  get service(): HttpService {
    return this.#service;
  }

  /** @throws ServiceError `unavailable` when `replace` could not take over such options */
  checkReplaceable(options: HttpServiceOptions): void {
    if (options.type === 'https') tlsContextOf({ ...this.#service, options });
  }

  /** Takes over new options; requests under way keep the old ones. */
  replace(service: HttpService): void {
    if (service.options.type === 'https') (this.#server as Http2SecureServer).setSecureContext(tlsContextOf(service));
    this.#service = service;
    this.#applyLimits();
  }

  /** Stops accepting, lets running requests finish, and cuts what is left after `timeoutMs`. @returns whether all finished */
  async drain(timeoutMs: number): Promise<boolean> {
    const { clock } = this.#service;
    this.#tlsWatch?.cancel();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#connections.closeHttp2();
    const closeIdle = () => (this.#server as Server).closeIdleConnections?.();
    closeIdle();
    const stepper = clock.every(drainStepMs, closeIdle);
    let inTime = true;
    const deadline = clock.after(timeoutMs, () => {
      inTime = false;
      this.#connections.destroy();
    });
    await closed;
    stepper.cancel();
    deadline.cancel();
    return inTime;
  }

  // The certificate may be there before its key: what does not fit together yet is tried again, and the old pair stays.
  #renewTls(): boolean {
    const { log, uuid, options } = this.#service;
    try {
      (this.#server as Http2SecureServer).setSecureContext(readTlsContext(options));
      log.info('the TLS files changed and are in use', { service: uuid });
      return true;
    } catch (error) {
      log.warn('the TLS files changed and cannot be used; the old ones stay', { service: uuid, reason: error });
      return false;
    }
  }

  #applyLimits(): void {
    const server = this.#server as Server;
    const idleMs = this.#service.options.idle_connection_timeout * 1000;
    // A process that shares its address would pass what is too many on to the others, and these back again, for ever.
    server.maxConnections = this.#service.sharing ? Number.POSITIVE_INFINITY : this.#connectionLimit();
    server.headersTimeout = headerTimeoutMs;
    // A large upload may take any time; a stalled one is ended by the idle timeout.
    server.requestTimeout = 0;
    server.keepAliveTimeout = idleMs;
    server.setTimeout(idleMs);
  }

  #connectionLimit(): number {
    const { options, sharing } = this.#service;
    return Math.ceil(options.maximum_concurrent_connections / (sharing?.processes ?? 1));
  }

  #refuseFlood(incoming: Incoming, outgoing: Outgoing): void {
    incoming.resume();
    const message = `A connection must not have more than ${mostPending} requests under way.`;
    sendReply(outgoing, false, this.#service.baseHeaders, errorsReply(503, [{ message }], { connection: 'close', 'retry-after': 1 }));
  }

  #refuseExpectation(incoming: Incoming, outgoing: Outgoing): void {
    const reply = errorsReply(417, [{ message: 'The expectation is not supported.' }], { connection: 'close' });
    sendReply(outgoing, incoming.method === 'HEAD', this.#service.baseHeaders, reply);
    this.#noteGarbage(incoming.socket.remoteAddress, incoming.socket.remotePort, 'Expectation not supported.');
  }

  // What the HTTP parser refused has no request to answer; it gets a bare reply and the connection ends.
  #refuseGarbage(error: Error, socket: Socket): void {
    if (systemErrorCode(error) === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const { remoteAddress, remotePort } = socket;
    const { message, reply } = garbageReply(error, String(this.#service.baseHeaders.server));
    this.#noteGarbage(remoteAddress, remotePort, message);
    // Behind the beginning of a reply the client would take another for its content.
    if (this.#pending.isReplying(socket)) return void socket.destroy();
    socket.end(reply);
    this.#service.clock.after(1000, () => socket.destroy());
  }

  #count(socket: Socket): void {
    if (this.#service.sharing && this.#connections.count >= this.#connectionLimit()) socket.destroy();
    else this.#connections.add(socket);
  }

  #watch(session: ServerHttp2Session): void {
    this.#connections.addHttp2(session);
    const { remoteAddress, remotePort } = session.socket;
    const onFault = (error: unknown) => this.#cut(error, session);
    endFloods(session, this.#service.clock, (what) => this.#noteGarbage(remoteAddress, remotePort, what), onFault);
  }

  /** Listens to the server. A fault ends what `victim` picks of the arguments, and nothing else. */
  #on<Args extends unknown[]>(event: string, listener: (...args: Args) => void, victim: (...args: Args) => { destroy(): void }): void {
    const onFault = (error: unknown, ...args: Args) => this.#cut(error, victim(...args));
    (this.#server as EventEmitter).on(event, guarded(listener, onFault) as (...args: unknown[]) => void);
  }

  // What is no request yet cannot be answered.
  #cut(error: unknown, victim: { destroy(): void }): void {
    const { component } = this.#service;
    const context = () => ({ account: processAccount(), component });
    noteInternalError(this.#service, error, { logged: { request_id: requestIdOf(victim as Outgoing) }, context, data: { status: 500 } });
    victim.destroy();
  }

  #noteGarbage(address: string | undefined, port: number | undefined, details: string): void {
    const { events, component } = this.#service;
    const account = {
      ...processAccount(),
      peer: { address: address ?? '0.0.0.0', port: port ?? 0, protocol: 'TCP', family: 'IPv4' } as const,
    };
    events.emit({ id: 40019, context: { account, component }, data: { details } });
  }
}
