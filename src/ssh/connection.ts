import { randomUUID } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type Server from 'ssh2/lib/server.js';
import type { Account } from '../accounts/account.ts';
import { accountOfEvents } from '../auth/auth-chain.ts';
import type { Session } from '../auth/sessions.ts';
import type { EventContext, EventPeer, RequestTrace } from '../events/event.ts';
import { peerAccount } from '../events/event-factory.ts';
import { AccountFiles } from '../files/account-files.ts';
import { LockGuard } from '../files/locks/lock-guard.ts';
import { guarded } from '../lib/guarded.ts';
import { addressFamily, normaliseAddress } from '../lib/headers/forwarded-header.ts';
import { shapeWrites } from '../lib/socket-writes.ts';
import { Sparing } from '../lib/sparing.ts';
import { isBanned, Login, type LoginConnection } from './authenticate.ts';
import { Channels } from './channels.ts';
import { readProxyHeader } from './proxy-protocol.ts';
import type { NegotiatedAlgorithms, SshClient } from './ssh-client.ts';
import type { SshService } from './ssh-service.ts';

/** A connection that is to end has so long to send what it holds. */
const farewellMs = 1000;

/** What a look at a session costs more than memory is asked this rarely. */
const remoteSessionCheckMs = 5000;

/** Requests that cannot be read are told of at most so often: they would fill the journal. */
const badRequestsEveryMs = 1000;

/** Exchanges of keys that a client begins before so much was sent and received are early; each costs as much as to send a megabyte. */
const bytesBetweenExchanges = 512 * 1024;
/** Early ones that a client may begin in a minute. */
const mostEarlyExchanges = 20;

/** An SFTP client has no way to say that it holds a lock. */
const noTokens: ReadonlySet<string> = new Set();

/** Reason of a disconnection: nothing is left to try (RFC 4253 §11.1). */
const noMoreAuthMethods = 14;

/** What a connection asks of the listener. */
export interface ConnectionHost {
  /** Takes one of the places that an account has. @returns whether there was one */
  takePlace(account: Account): boolean;
  freePlace(account: Account): void;
  /** @returns why one more connection of this client's address is refused */
  tooManyOfAddress(connection: SshConnection): string | undefined;
  /** A client is refused as there are too many. */
  noteTooMany(context: EventContext, details: string): void;
  /** The client has logged in. */
  loggedIn(connection: SshConnection): void;
}

/** One TCP connection of an SSH service, from its acceptance to its end. */
export class SshConnection implements LoginConnection {
  readonly service: SshService;
  readonly trace: RequestTrace = { id: randomUUID() };
  peer: EventPeer;
  readonly #socket: Socket;
  readonly #host: ConnectionHost;
  readonly #login: Login;
  readonly #beganMs: number;
  readonly #ended = new AbortController();
  readonly #leaving = new AbortController();
  readonly #drainListeners = new Set<() => void>();
  #client: Server.IncomingClient | undefined;
  #software = '';
  #algorithms: NegotiatedAlgorithms | undefined;
  #channels: Channels | undefined;
  #account: Account | undefined;
  #session: { id: string; session: Session; hold: { done(): void } } | undefined;
  #reason: string | undefined;
  #lastActiveMs: number;
  #keysSince: { ms: number; bytes: number };
  #earlyExchanges = { count: 0, sinceMs: 0 };
  #kexSinceMs: number | undefined;
  #nextSessionCheckMs = 0;

  constructor(socket: Socket, service: SshService, host: ConnectionHost) {
    this.#socket = socket;
    this.service = service;
    this.#host = host;
    this.peer = peerOf(socket.remoteAddress ?? '0.0.0.0', socket.remotePort ?? 0);
    this.#beganMs = service.clock.monotonicMs();
    this.#lastActiveMs = this.#beganMs;
    this.#keysSince = { ms: this.#beganMs, bytes: 0 };
    this.#login = new Login(this);
    // A broken connection is the client's affair; `close` follows.
    socket.on('error', () => {});
    this.#on(socket, 'close', () => this.#closed());
    this.#on(socket, 'drain', () => this.#drained());
  }

  /** Whether the client has logged in. */
  get isLoggedIn(): boolean {
    return this.#channels !== undefined;
  }

  get isEnded(): boolean {
    return this.#reason !== undefined || this.#socket.destroyed;
  }

  /** Begins to speak, unless the address is banned. @param protocol takes the socket over */
  async begin(protocol: Server): Promise<void> {
    try {
      const { options, isProxy, log, uuid } = this.service;
      if (options.proxy_protocol && isProxy(this.peer.address)) {
        try {
          const client = await readProxyHeader(this.#socket);
          if (client) this.peer = peerOf(client.address, client.port);
        } catch (error) {
          log.warn('a connection of a proxy was refused', { service: uuid, address: this.peer.address, reason: error });
          this.#socket.destroy();
          return;
        }
      }
      const fault = this.#host.tooManyOfAddress(this);
      if (fault !== undefined) this.#host.noteTooMany(this.#contextOf(undefined), fault);
      if (fault !== undefined || (await isBanned(this))) this.#socket.destroy();
      if (this.#socket.destroyed) return;
      shapeWrites(this.#socket);
      protocol.injectSocket(this.#socket);
    } catch (error) {
      this.#fault(error);
    }
  }

  /** The client has said what it is. */
  greeted(client: Server.IncomingClient, software: string): void {
    this.#client = client;
    this.#software = software;
    this.#on(client, 'error', (error: Error) => this.#failed(error));
    this.#on(client, 'handshake', (negotiated: Server.Negotiated) => this.#agreed(negotiated));
    this.#on(client, 'rekey', () => this.#exchangedAgain());
    this.#on(client, 'authentication', (context: Server.AuthContext) => this.#login.handle(context, (error) => this.#fault(error)));
    this.#on(client, 'ready', () => this.#ready());
    guarded(
      () => this.#emit(30014, {}),
      (error) => this.#fault(error),
    )();
  }

  tell(text: string): void {
    this.#client?._protocol.authBanner(text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, ''));
  }

  giveUp(reason: string): void {
    if (this.isEnded) return;
    this.#client?._protocol.disconnect(noMoreAuthMethods);
    this.end(reason);
  }

  async admit(account: Account): Promise<string | undefined> {
    const { sessions } = this.service;
    // Its place would never become free again.
    if (this.isEnded) return 'The connection ended.';
    if (!this.#host.takePlace(account)) {
      const details = 'Too many connections of this account.';
      this.#host.noteTooMany(this.#contextOf(account), details);
      return details;
    }
    this.#account = account;
    const id = await sessions.create(account, this.peer.address);
    const session = await sessions.find(id);
    if (!session) return 'The session ended.';
    this.#session = { id, session, hold: sessions.hold(session) };
    if (this.#ended.signal.aborted) this.#endSession();
    return undefined;
  }

  /** The service is about to stop: ends as soon as no transfer is under way. */
  leave(): void {
    this.#leaving.abort();
    if (!this.#channels || this.#channels.count === 0) this.end('The service stops.');
  }

  /** Ends the connection after what it still holds was sent. */
  end(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#client?.end();
    this.#socket.destroySoon();
    this.service.clock.after(farewellMs, () => this.#socket.destroy());
  }

  cut(reason: string): void {
    this.#reason ??= reason;
    this.#socket.destroy();
  }

  /** What has to be looked at every second. */
  look(nowMs: number): void {
    const { options } = this.service;
    const graceMs = options.login_grace_time * 1000;
    if (!this.isLoggedIn) {
      if (nowMs - this.#beganMs > graceMs && !this.#login.isBusy) this.cut('The client did not log in in time.');
      return;
    }
    if (this.#client?._protocol._kexinit === undefined) this.#kexSinceMs = undefined;
    else this.#kexSinceMs ??= nowMs;
    if (nowMs - (this.#kexSinceMs ?? nowMs) > graceMs) this.cut('The client did not finish an exchange of keys.');
    if (nowMs - this.#lastActiveMs > options.idle_connection_timeout * 1000) this.end('The connection was idle.');
    if (this.isEnded) return;
    const { ms, bytes } = this.#keysSince;
    if (this.#bytes() - bytes > options.rekey_bytes || nowMs - ms > options.rekey_seconds * 1000) this.#client?._protocol.rekey();
    if (nowMs >= this.#nextSessionCheckMs) this.#checkSession(nowMs);
  }

  #checkSession(nowMs: number): void {
    if (!this.#session) return;
    const found = this.service.sessions.find(this.#session.id);
    const check = (session: Session | undefined) => {
      if (!session) this.end('The session ended.');
    };
    if (!(found instanceof Promise)) {
      check(found);
      return;
    }
    this.#nextSessionCheckMs = nowMs + remoteSessionCheckMs;
    // While nobody can tell, it lives.
    found.then(check, () => {});
  }

  /** Comes before `#agreed`. */
  #exchangedAgain(): void {
    if (!this.isLoggedIn) this.end('The client exchanged keys again before it logged in.');
    if (this.#bytes() - this.#keysSince.bytes >= bytesBetweenExchanges) return;
    const nowMs = this.service.clock.monotonicMs();
    if (nowMs - this.#earlyExchanges.sinceMs > 60_000) this.#earlyExchanges = { count: 0, sinceMs: nowMs };
    if (++this.#earlyExchanges.count > mostEarlyExchanges) this.cut('The client exchanged keys too often.');
  }

  #agreed({ kex, serverHostKey, cs, sc }: Server.Negotiated): void {
    this.#keysSince = { ms: this.service.clock.monotonicMs(), bytes: this.#bytes() };
    if (!this.#algorithms) this.service.observe?.handshake('done');
    this.#algorithms = {
      kex,
      host_key: serverHostKey,
      cipher_in: cs.cipher,
      cipher_out: sc.cipher,
      mac_in: cs.mac,
      mac_out: sc.mac,
    };
    this.#drained();
  }

  #ready(): void {
    const { service, trace } = this;
    const account = this.#login.granted;
    if (!account || !this.#session || !this.#client || !this.#algorithms) throw new Error('Nobody has logged in.');
    const context = this.#contextOf(account);
    const client: SshClient = {
      connectionId: trace.id,
      account,
      files: new AccountFiles(account, service.files, context, new LockGuard(service.files.locks, account.uuid, noTokens)),
      context,
      events: service.events,
      options: service.options,
      algorithms: this.#algorithms,
      software: this.#software,
      observe: service.observe,
      clock: service.clock,
      log: service.log,
      handles: service.handles,
      badRequests: new Sparing(service.clock, badRequestsEveryMs),
      ended: this.#ended.signal,
      leaving: this.#leaving.signal,
      heldBytes: () => (this.#client?._protocol._kexinit === undefined ? this.#socket.writableLength : Number.POSITIVE_INFINITY),
      onDrain: (listener) => {
        this.#drainListeners.add(listener);
        return () => this.#drainListeners.delete(listener);
      },
      noteActivity: () => this.#noteActivity(),
    };
    this.#noteActivity();
    this.#channels = new Channels(client, (error) => this.#fault(error));
    this.#on(this.#client, 'session', (accept: () => Server.Session, reject: () => void) => this.#channels?.open(accept, reject));
    this.#channels.onEmpty = () => {
      if (this.#leaving.signal.aborted) this.end('The service stops.');
    };
    service.observe?.login();
    this.#host.loggedIn(this);
    if (this.#leaving.signal.aborted) this.leave();
  }

  #noteActivity(): void {
    this.#lastActiveMs = this.service.clock.monotonicMs();
  }

  // What the client takes is activity of it, too.
  #drained(): void {
    if (this.isLoggedIn) this.#noteActivity();
    for (const listener of this.#drainListeners) listener();
  }

  #failed(error: Error & { level?: string }): void {
    if (!this.#algorithms && error.level === 'handshake') {
      this.service.observe?.handshake('failed');
      this.#emit(30013, { details: error.message });
    }
    if (error.level === 'flood') this.cut(error.message);
    else this.end(error.message);
  }

  #closed(): void {
    const { clock, log, uuid } = this.service;
    this.#ended.abort();
    if (this.#account) this.#host.freePlace(this.#account);
    this.#endSession();
    this.#login.end().catch((error) => log.debug('the end of an attempt was not counted', { reason: error }));
    const reason = this.#reason ?? 'The client ended the connection.';
    log.debug('connection closed', { service: uuid, connection: this.trace.id, reason });
    if (!this.#client) return;
    const { bytesRead, bytesWritten } = this.#socket;
    const duration = Math.round(clock.monotonicMs() - this.#beganMs) / 1000;
    this.#emit(30015, { algorithms: this.#algorithms, duration, bytes_received: bytesRead, bytes_sent: bytesWritten, details: reason });
  }

  #endSession(): void {
    const kept = this.#session;
    this.#session = undefined;
    if (!kept) return;
    kept.hold.done();
    this.service.sessions.end(kept.session).catch((error) => this.service.log.warn('a session could not be ended', { reason: error }));
  }

  #bytes(): number {
    return this.#socket.bytesRead + this.#socket.bytesWritten;
  }

  #contextOf(account: Account | undefined): EventContext {
    const { service, peer, trace } = this;
    if (!account) return { account: peerAccount(peer), component: service.component, request: trace };
    return { account: accountOfEvents(account, peer), component: service.component, group: account.groupUuid, request: trace };
  }

  #emit(id: number, data: Record<string, unknown>): void {
    const account = this.isLoggedIn ? this.#account : undefined;
    this.service.events.emit({ id, context: this.#contextOf(account), data: { client: this.#software, ...data } });
  }

  #on<Args extends unknown[]>(emitter: EventEmitter, event: string, listener: (...args: Args) => void): void {
    emitter.on(
      event,
      guarded(listener as (...args: unknown[]) => void, (error) => this.#fault(error)),
    );
  }

  /** A fault of the program ends the connection, and nothing else. */
  #fault(error: unknown): void {
    const { log, uuid } = this.service;
    const reference = randomUUID();
    const stack = error instanceof Error ? error.stack : undefined;
    log.error('internal error', { reference, service: uuid, connection: this.trace.id, reason: error, stack });
    try {
      this.#emit(40003, { details: 'Internal error.', reference });
    } catch (fault) {
      log.error('an internal error could not be journalled', { reference, reason: fault });
    }
    this.cut('Internal error.');
  }
}

function peerOf(rawAddress: string, port: number): EventPeer {
  const address = normaliseAddress(rawAddress);
  return { address, port, protocol: 'TCP', family: addressFamily(address) };
}
