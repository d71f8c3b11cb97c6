import { createServer, type Server as NetServer, type Socket } from 'node:net';
import Server from 'ssh2/lib/server.js';
import type { RequestTrace } from '../events/event.ts';
import type { Timer } from '../lib/clock.ts';
import { drainConnections, PendingWork } from '../lib/concurrency/pending-work.ts';
import { ServiceError } from '../lib/errors.ts';
import { listen, serverUrl } from '../lib/listen.ts';
import { ThrottledCount } from '../lib/rate-meter.ts';
import { fitsAlgorithms, resolveAlgorithms } from './algorithms.ts';
import { SshConnection } from './connection/connection.ts';
import type { SshService } from './ssh-service.ts';

/** Number of successive keep-alive requests that a client may leave unanswered. */
const maxSilentKeepAlives = 3;

/** Interval, in milliseconds, at which each connection is checked: time for the login, idle time, age of the keys, end of the session. */
const checkEveryMs = 1000;

/** Minimum interval, in milliseconds, between events about refused connections. More frequent events could fill the journal. */
const refusalsEveryMs = 1000;

/** The server that listens for one SSH service. A reload of the configuration keeps the server if the address stays the same. */
export class SshServer {
  #service: SshService;
  #protocol: Server;
  readonly #server: NetServer;
  readonly #connections = new Map<Socket, SshConnection>();
  /** Connections that have closed, but whose transfers have not all been reported as ended. */
  readonly #settling = new PendingWork();
  /** Totals of all connections that have closed. */
  readonly #ended = { receivedBytes: 0, sentBytes: 0, requests: 0 };
  readonly #looker: Timer;
  readonly #refusals: ThrottledCount;

  /** @throws ServiceError `unavailable` if no host key fits the algorithms */
  constructor(service: SshService) {
    this.#service = service;
    this.#protocol = this.#makeProtocol(service);
    this.#refusals = new ThrottledCount(service.clock, refusalsEveryMs);
    this.#server = createServer({ pauseOnConnect: false, noDelay: true }, (socket) => this.#accept(socket));
    this.#looker = service.clock.every(checkEveryMs, () => {
      const nowMs = this.#service.clock.monotonicMs();
      for (const connection of this.#connections.values()) connection.check(nowMs);
    });
  }

  /**
   * Starts to accept connections.
   *
   * @throws ServiceError `unavailable`, which names the address, if the address is in use or not permitted
   */
  async listen(): Promise<void> {
    const onError = (reason: Error) => this.#service.log.error('server error', { service: this.#service.uuid, reason });
    try {
      await listen(this.#server, this.#service.options, onError);
    } catch (error) {
      this.#looker.cancel();
      throw error;
    }
  }

  /** The URL under which clients reach the server. If the configured port is 0, the URL has the port that the system chose. */
  get url(): string {
    return serverUrl('sftp', this.#server);
  }

  /** The number of open connections, and the total numbers of bytes and SFTP requests so far. */
  get traffic(): { connections: number; receivedBytes: number; sentBytes: number; requests: number } {
    let { receivedBytes, sentBytes, requests } = this.#ended;
    for (const [socket, connection] of this.#connections) {
      receivedBytes += socket.bytesRead;
      sentBytes += socket.bytesWritten;
      requests += connection.requests;
    }
    return { connections: this.#connections.size, receivedBytes, sentBytes, requests };
  }

  get service(): SshService {
    return this.#service;
  }

  /** Does nothing. The `leave` of an HTTP server closes each connection after its next reply, but SSH has no such replies. */
  leave(): void {}

  /** Checks new options before `replace`. @throws ServiceError `unavailable` if `replace` could not apply them */
  checkReplaceable(service: SshService): void {
    this.#makeProtocol(service);
  }

  /** Applies new options. Existing connections keep the transport options with which they began. */
  replace(service: SshService): void {
    this.#service = service;
    this.#protocol = this.#makeProtocol(service);
  }

  /** Called when a reload removes or replaces this server. From then on, the new configuration's accounts apply to its open connections. */
  follow(chain: SshService['chain']): void {
    this.#service = { ...this.#service, chain };
  }

  /** Cuts the connections of accounts that lost access (`AuthChain.inForce`). @returns the IDs of the cut connections */
  cutOthers(): RequestTrace[] {
    return [...this.#connections.values()].filter((connection) => connection.cutUnlessInForce()).map(({ trace }) => trace);
  }

  /**
   * Stops accepting connections and lets transfers finish. Cuts the remaining connections after `timeoutMs`, or when `hurry` is aborted.
   * Resolves when the end of each transfer has been reported.
   *
   * @returns whether all transfers finished before they were cut
   */
  async drain(timeoutMs: number, hurry: AbortSignal): Promise<boolean> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections.values()) connection.leave();
    const settled = () => this.#settling.ended();
    const cut = () => {
      for (const connection of this.#connections.values()) connection.cut('The service stops.');
    };
    const inTime = await drainConnections(this.#service.clock, { closed, settled, timeoutMs, hurry, cut });
    this.#looker.cancel();
    return inTime;
  }

  #accept(socket: Socket): void {
    const connection = new SshConnection(socket, () => this.#service, this.#refusals);
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      this.#connections.delete(socket);
      this.#settling.add(connection.settled());
      this.#ended.receivedBytes += socket.bytesRead;
      this.#ended.sentBytes += socket.bytesWritten;
      this.#ended.requests += connection.requests;
    });
    void connection.begin(this.#protocol);
  }

  #makeProtocol({ options, hostKeys, uuid }: SshService): Server {
    const algorithms = resolveAlgorithms(options.ssh_cipher_list);
    const { kex, hostKey, cipher, mac } = algorithms;
    const usable = hostKeys.filter(({ type }) => fitsAlgorithms(type, algorithms));
    if (usable.length === 0)
      throw new ServiceError('unavailable', `The ssh service ${uuid} has no host key for the algorithms of ssh_cipher_list.`);
    const protocol = new Server({
      hostKeys: usable.map(({ text }) => text),
      algorithms: { kex, serverHostKey: hostKey, cipher, hmac: mac, compress: ['none'] },
      ident: 'svc',
      banner: options.before_login_message,
      keepaliveInterval: options.keep_alive_interval * 1000,
      keepaliveCountMax: maxSilentKeepAlives,
    });
    protocol.on(
      'connection',
      (client: Server.IncomingClient, { header }: { header: { versions: { software: string }; comments?: string } }) => {
        const { versions, comments } = header;
        const connection = this.#connections.get(client._sock as Socket);
        connection?.greeted(client, [versions.software, comments].filter(Boolean).join(' ').trim());
      },
    );
    return protocol;
  }
}
