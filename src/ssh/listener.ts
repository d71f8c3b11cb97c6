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

/** Keep-alives in a row that a client may leave unanswered. */
const maxSilentKeepAlives = 3;

/** How often connections are checked: grace time, idleness, new keys, sessions that ended. */
const checkEveryMs = 1000;

/** Events about refused connections come at most this often: they would fill the journal. */
const refusalsEveryMs = 1000;

/** The listening side of one SSH service; outlives reloads that keep its address. */
export class SshServer {
  #service: SshService;
  #protocol: Server;
  readonly #server: NetServer;
  readonly #connections = new Map<Socket, SshConnection>();
  /** Ends of gone connections that are still to be reported. */
  readonly #settling = new PendingWork();
  /** Totals of connections that ended. */
  readonly #ended = { receivedBytes: 0, sentBytes: 0, requests: 0 };
  readonly #looker: Timer;
  readonly #refusals: ThrottledCount;

  /** @throws ServiceError `unavailable` when no host key fits the algorithms */
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

  /** Begins to accept connections. @throws ServiceError `unavailable` naming the address when it is in use or not permitted */
  async listen(): Promise<void> {
    const onError = (reason: Error) => this.#service.log.error('server error', { service: this.#service.uuid, reason });
    try {
      await listen(this.#server, this.#service.options, onError);
    } catch (error) {
      this.#looker.cancel();
      throw error;
    }
  }

  /** The address that clients use, with the port that the system chose for port 0. */
  get url(): string {
    return serverUrl('sftp', this.#server);
  }

  /** Current connections, and bytes on the wire and SFTP requests so far. */
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

  /** Does nothing: SSH has no replies that could end a connection. */
  leave(): void {}

  /** @throws ServiceError `unavailable` when `replace` could not take over such a service */
  checkReplaceable(service: SshService): void {
    this.#makeProtocol(service);
  }

  /** Applies new options; existing connections keep those of their transport. */
  replace(service: SshService): void {
    this.#service = service;
    this.#protocol = this.#makeProtocol(service);
  }

  /** Applies the accounts of a new configuration while the server is drained. */
  follow(chain: SshService['chain']): void {
    this.#service = { ...this.#service, chain };
  }

  /** Cuts the connections of accounts that lost access (`AuthChain.inForce`). @returns their names */
  cutOthers(): RequestTrace[] {
    return [...this.#connections.values()].filter((connection) => connection.cutUnlessInForce()).map(({ trace }) => trace);
  }

  /**
   * Stops accepting, lets transfers finish, and cuts the rest after `timeoutMs`, or when `hurry` is aborted. Resolves when all ends are reported.
   *
   * @returns whether all finished
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
