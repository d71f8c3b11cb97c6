import { randomUUID } from 'node:crypto';
import { type EventEmitter, setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import type Server from 'ssh2/lib/server.js';
import type { Account } from '../../accounts/account.ts';
import type { Identity } from '../../auth/credentials.ts';
import type { EventContext, EventPeer, RequestTrace } from '../../events/event.ts';
import { peerAt } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import { reportInternalError } from '../../events/internal-error.ts';
import { catching } from '../../lib/catching.ts';
import type { ThrottledCount } from '../../lib/rate-meter.ts';
import { Login, type LoginConnection } from '../authenticate.ts';
import type { SshServiceOptions } from '../options.ts';
import { makeClient, type NegotiatedAlgorithms } from '../ssh-client.ts';
import { eventContext, type SshService } from '../ssh-service.ts';
import { ConnectionSession, ConnectionSlots, isAdmitted, type NewConnection, reportTooMany } from './admission.ts';
import { Channels, listenTo } from './channels.ts';

/**
 * A key exchange is early if the client begins it before this many bytes were transferred since the previous exchange. An exchange costs as
 * much as sending a megabyte.
 */
const bytesBetweenExchanges = 512 * 1024;
/** Maximum number of early key exchanges that a client may begin per minute. */
const maxEarlyExchanges = 20;
const earlyWindowMs = 60_000;

/**
 * Controls when keys of one connection are exchanged. The server begins an exchange often enough, and the client must not begin too many.
 */
class KeyExchanges {
  readonly #options: Pick<SshServiceOptions, 'rekey_bytes' | 'rekey_seconds' | 'login_grace_time'>;
  /** Monotonic time of the last exchange, and the number of bytes transferred until then. */
  #last: { ms: number; bytes: number };
  #early = { count: 0, sinceMs: 0 };
  #underWaySinceMs: number | undefined;

  /** @param nowMs monotonic time, like all times of this class */
  constructor(options: Pick<SshServiceOptions, 'rekey_bytes' | 'rekey_seconds' | 'login_grace_time'>, nowMs: number) {
    this.#options = options;
    this.#last = { ms: nowMs, bytes: 0 };
  }

  /** Records that an exchange is complete. @param bytes number of bytes sent and received so far */
  done(nowMs: number, bytes: number): void {
    this.#last = { ms: nowMs, bytes };
  }

  /**
   * Counts an exchange if it is early. Call this for each exchange except the first, before `done`.
   *
   * @returns whether the client begins exchanges too often
   */
  areTooMany(nowMs: number, bytes: number): boolean {
    if (bytes - this.#last.bytes >= bytesBetweenExchanges) return false;
    if (nowMs - this.#early.sinceMs > earlyWindowMs) this.#early = { count: 0, sinceMs: nowMs };
    return ++this.#early.count > maxEarlyExchanges;
  }

  /** Checks the running exchange; called every second. @returns whether it has taken longer than `login_grace_time` */
  isOverdue(nowMs: number, isUnderWay: boolean): boolean {
    if (!isUnderWay) this.#underWaySinceMs = undefined;
    else this.#underWaySinceMs ??= nowMs;
    return nowMs - (this.#underWaySinceMs ?? nowMs) > this.#options.login_grace_time * 1000;
  }

  isDue(nowMs: number, bytes: number): boolean {
    const { rekey_bytes, rekey_seconds } = this.#options;
    return bytes - this.#last.bytes > rekey_bytes || nowMs - this.#last.ms > rekey_seconds * 1000;
  }
}

/**
 * Number of unsent bytes above which the service stops reading. Channels stop sending far below this number, but the automatic replies of
 * ssh2 have no limit.
 */
const maxUnsentBytes = 8 * 1024 * 1024;

/**
 * Sends all writes of one turn of the event loop together, because ssh2 writes each message in pieces. Also stops reading from a client
 * that does not read its replies.
 */
export function shapeWrites(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let isCorked = false;
  const uncork = () => {
    isCorked = false;
    socket.uncork();
  };
  socket.write = ((...args: unknown[]) => {
    if (!isCorked) {
      isCorked = true;
      socket.cork();
      process.nextTick(uncork);
    }
    const hasRoom = write(...args);
    if (socket.writableLength > maxUnsentBytes && !socket.isPaused()) {
      socket.pause();
      socket.once('drain', () => socket.resume());
    }
    return hasRoom;
  }) as Socket['write'];
}

/** Time in milliseconds for which a closing connection can still send its buffered bytes. */
const farewellMs = 1000;

/** Code of the reason with which a client is disconnected if no authentication method is left to try (RFC 4253 §11.1). */
const noMoreAuthMethods = 14;

/** One TCP connection of an SSH service, from its acceptance to its end. */
export class SshConnection implements NewConnection, LoginConnection {
  /** The service, with its configuration at the time when the connection was accepted. */
  readonly service: SshService;
  readonly trace: RequestTrace = { id: randomUUID() };
  readonly slots: ConnectionSlots;
  readonly refusals: ThrottledCount;
  peer: EventPeer;
  readonly #socket: Socket;
  readonly #current: () => SshService;
  readonly #login: Login;
  readonly #beganMs: number;
  readonly #drainListeners = new Set<() => void>();
  #lastActiveMs: number;
  requests = 0;
  readonly #keyExchanges: KeyExchanges;
  readonly #ended = new AbortController();
  readonly #leaving = new AbortController();
  #client: Server.IncomingClient | undefined;
  #software = '';
  #algorithms: NegotiatedAlgorithms | undefined;
  #channels: Channels | undefined;
  #session: ConnectionSession | undefined;
  #reason: string | undefined;

  /** @param current returns the service with its current configuration */
  constructor(socket: Socket, current: () => SshService, refusals: ThrottledCount) {
    const service = current();
    this.#socket = socket;
    this.#current = current;
    this.service = service;
    this.refusals = refusals;
    this.slots = new ConnectionSlots(service);
    this.peer = peerAt(socket.remoteAddress ?? '0.0.0.0', socket.remotePort ?? 0);
    this.#beganMs = service.clock.monotonicMs();
    this.#lastActiveMs = this.#beganMs;
    this.#keyExchanges = new KeyExchanges(service.options, this.#beganMs);
    this.#login = new Login(this);
    // Each channel adds a listener, so the number of listeners is not limited.
    setMaxListeners(0, this.#ended.signal, this.#leaving.signal);
    // A `close` event follows each error, so errors need no handling here.
    socket.on('error', () => {});
    this.#on(socket, 'close', () => this.#closed());
    this.#on(socket, 'drain', () => this.#drained());
  }

  get isLoggedIn(): boolean {
    return this.#channels !== undefined;
  }

  get isEnded(): boolean {
    return this.#reason !== undefined || this.#socket.destroyed;
  }

  /** Starts the protocol if the client is admitted. @param protocol the ssh2 server, which then reads from the socket */
  async begin(protocol: Server): Promise<void> {
    try {
      if (!(await isAdmitted(this, this.#socket))) this.#socket.destroy();
      if (this.#socket.destroyed) return;
      shapeWrites(this.#socket);
      protocol.injectSocket(this.#socket);
    } catch (error) {
      this.#fault(error);
    }
  }

  /** Called when the client has sent its identification. */
  greeted(client: Server.IncomingClient, software: string): void {
    this.#client = client;
    this.#software = software;
    this.#on(client, 'error', (error: Error) => this.#failed(error));
    this.#on(client, 'handshake', (negotiated: Server.Negotiated) => this.#agreed(negotiated));
    this.#on(client, 'rekey', () => this.#exchangedAgain());
    this.#on(client, 'authentication', (context: Server.AuthContext) => this.#login.handle(context, (error) => this.#fault(error)));
    this.#on(client, 'service again', () => this.#login.askedAgain());
    this.#on(client, 'ready', () => this.#ready());
    catching(
      () => this.#emit(eventIds.sshClientConnected, {}),
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

  async admit(account: Account, identity: Identity): Promise<string | undefined> {
    const session = await ConnectionSession.begin(this.service, identity, { address: this.peer.address, client: this.#software });
    if (session === 'ended') return 'The session ended.';
    if (session === 'too-many') {
      const details = 'Too many connections of this account.';
      reportTooMany(this, details, account);
      return details;
    }
    if (this.#ended.signal.aborted) session.end();
    else this.#session = session;
    return undefined;
  }

  /** Called when the service is about to stop. Ends the connection as soon as no transfer is running. */
  leave(): void {
    this.#leaving.abort();
    if (!this.#channels || this.#channels.count === 0) this.end('The service stops.');
  }

  /** Closes the connection when its buffered bytes have been sent. */
  end(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#client?.end();
    this.#socket.destroySoon();
    this.service.clock.after(farewellMs, () => this.#socket.destroy());
  }

  async settled(): Promise<void> {
    await this.#channels?.underWay.ended();
  }

  cut(reason: string): void {
    this.#reason ??= reason;
    this.#socket.destroy();
  }

  /** Cuts the connection if its account lost access. @returns whether the connection was cut */
  cutUnlessInForce(): boolean {
    if (!this.isLoggedIn || this.isEnded || this.#accountInForce()) return false;
    this.cut('The account or its credential was removed, disabled or changed.');
    return true;
  }

  /** Checks deadlines, idle time, keys and the session; called every second. */
  check(nowMs: number): void {
    const { options } = this.#current();
    const graceMs = options.login_grace_time * 1000;
    if (!this.isLoggedIn) {
      if (nowMs - this.#beganMs > graceMs && !this.#login.isBusy) this.cut('The client did not log in within the time limit.');
      return;
    }
    if (this.#keyExchanges.isOverdue(nowMs, this.#isExchangingKeys)) this.cut('The client did not finish an exchange of keys.');
    if (nowMs - this.#lastActiveMs > options.idle_connection_timeout * 1000) this.end('The connection was idle.');
    this.cutUnlessInForce();
    if (this.isEnded) return;
    if (this.#keyExchanges.isDue(nowMs, this.#bytes)) this.#client?._protocol.rekey();
    this.#session?.check(nowMs, () => this.end('The session ended.'));
  }

  #accountInForce(): Account | undefined {
    return this.#login.inForce(this.#current().chain);
  }

  get #isExchangingKeys(): boolean {
    return this.#client?._protocol._kexinit !== undefined;
  }

  /** Called for each key exchange after the first one, before `#agreed`. */
  #exchangedAgain(): void {
    if (!this.isLoggedIn) this.end('The client exchanged keys again before it logged in.');
    if (this.#keyExchanges.areTooMany(this.service.clock.monotonicMs(), this.#bytes)) this.cut('The client exchanged keys too often.');
  }

  #agreed({ kex, serverHostKey, cs, sc }: Server.Negotiated): void {
    this.#keyExchanges.done(this.service.clock.monotonicMs(), this.#bytes);
    if (!this.#algorithms) this.service.observe?.handshake('done');
    const directions = { cipher_in: cs.cipher, cipher_out: sc.cipher, mac_in: cs.mac, mac_out: sc.mac };
    this.#algorithms = { kex, host_key: serverHostKey, ...directions };
    this.#drained();
  }

  get #bytes(): number {
    return this.#socket.bytesRead + this.#socket.bytesWritten;
  }

  #noteActivity(): void {
    this.#lastActiveMs = this.service.clock.monotonicMs();
  }

  /** Called when all bytes were sent, or when sending can continue. A client that reads its replies counts as active. */
  #drained(): void {
    this.#noteActivity();
    for (const listener of this.#drainListeners) listener();
  }

  #ready(): void {
    const account = this.#login.granted;
    if (!account || !this.#session || !this.#client || !this.#algorithms) throw new Error('Nobody has logged in.');
    const client = makeClient(this, account, {
      current: this.#current,
      accountInForce: () => {
        const present = this.#accountInForce();
        if (!present) this.cutUnlessInForce();
        return present;
      },
      algorithms: this.#algorithms,
      software: this.#software,
      ended: this.#ended.signal,
      leaving: this.#leaving.signal,
      heldBytes: () => (this.#isExchangingKeys ? Number.POSITIVE_INFINITY : this.#socket.writableLength),
      onDrain: (listener) => {
        this.#drainListeners.add(listener);
        return () => this.#drainListeners.delete(listener);
      },
      noteActivity: () => this.#noteActivity(),
      countRequest: () => void this.requests++,
    });
    this.#noteActivity();
    this.#channels = new Channels(client, (error) => this.#fault(error));
    this.#on(this.#client, 'session', (accept: () => Server.Session, reject: () => void) => this.#channels?.open(accept, reject));
    this.#channels.onEmpty = () => {
      if (this.#leaving.signal.aborted) this.end('The service stops.');
    };
    this.service.observe?.login();
    this.slots.loggedIn();
    if (this.#leaving.signal.aborted) this.leave();
    // A reload of the configuration may have removed the account's access after its credentials were checked.
    this.cutUnlessInForce();
  }

  #failed(error: Error & { level?: string }): void {
    if (!this.#algorithms && error.level === 'handshake') {
      this.service.observe?.handshake('failed');
      this.#emit(eventIds.sshKeyExchangeFailed, { details: error.message });
    }
    if (error.level === 'flood') this.cut(error.message);
    else this.end(error.message);
  }

  #closed(): void {
    const { clock, log, uuid } = this.service;
    this.#ended.abort();
    this.slots.leave();
    this.#session?.end();
    this.#login.end().catch((error) => log.debug('a failed login with an unknown key was not counted', { reason: error }));
    const reason = this.#reason ?? 'The client ended the connection.';
    log.debug('connection closed', { service: uuid, connection: this.trace.id, reason });
    if (!this.#client) return;
    const { bytesRead: bytes_received, bytesWritten: bytes_sent } = this.#socket;
    const duration = Math.round(clock.monotonicMs() - this.#beganMs) / 1000;
    this.#emit(eventIds.sshConnectionEnded, { algorithms: this.#algorithms, duration, bytes_received, bytes_sent, details: reason });
  }

  get #context(): EventContext {
    return eventContext(this, this.isLoggedIn ? this.#login.granted : undefined);
  }

  #emit(id: number, data: Record<string, unknown>): void {
    this.service.events.emit({ id, context: this.#context, data: { client: this.#software, ...data } });
  }

  #on<Args extends unknown[]>(emitter: EventEmitter, event: string, listener: (...args: Args) => void): void {
    listenTo(emitter, event, listener, (error) => this.#fault(error));
  }

  /** Ends only this connection after a programming error; the process continues. */
  #fault(error: unknown): void {
    const { service, trace } = this;
    reportInternalError(service, error, {
      logged: { service: service.uuid, connection: trace.id },
      context: () => this.#context,
      data: { client: this.#software },
    });
    this.cut('Internal error.');
  }
}
