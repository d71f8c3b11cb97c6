import tls from 'node:tls';
import { createClient } from '@redis/client';
import type { Clock, Timer } from '../clock.ts';
import type { RedisAddress } from './redis-url.ts';

export type RedisArguments = (string | Buffer)[];

export interface HostPort {
  host: string;
  port: number;
}

export interface ConnectorOptions {
  /** Certificate authorities to trust in addition to those of Node.js. */
  caPem: string | undefined;
  /** Credentials for Sentinel. The credentials for Redis are in the URL. */
  sentinel: { username: string; password: string } | undefined;
  clock: Clock;
}

export interface RedisClient {
  send(command: RedisArguments): Promise<unknown>;
  destroy(): void;
}

/** Timeout for connecting and logging in, in milliseconds. */
const openTimeoutMs = 3000;

/** Timeout in milliseconds for a query to Sentinel or to a cluster node. It includes the time for connecting. */
const askTimeoutMs = 1500;

/** Uses the client library to open connections to the servers of an address. */
export class ClientConnector {
  readonly #address: RedisAddress;
  readonly #sentinel: ConnectorOptions['sentinel'];
  readonly #tls: { tls: true; ca?: string[] } | undefined;
  readonly #clock: Clock;

  constructor(address: RedisAddress, { caPem, sentinel, clock }: ConnectorOptions) {
    this.#address = address;
    this.#sentinel = sentinel;
    this.#tls = address.isTls ? { tls: true, ...(caPem === undefined ? {} : { ca: [...tls.rootCertificates, caPem] }) } : undefined;
    this.#clock = clock;
  }

  /** Opens a connection that does not reconnect by itself. Rejects if it cannot be opened. */
  async open({ host, port }: HostPort, role: 'data' | 'sentinel', onLost: (error: Error) => void): Promise<RedisClient> {
    const client = createClient({
      RESP: 2,
      disableOfflineQueue: true,
      ...this.#credentials(role),
      socket: { host, port, connectTimeout: openTimeoutMs, reconnectStrategy: false, noDelay: true, keepAlive: true, ...this.#tls },
    });
    let last = new Error('the connection was closed');
    let isOpen = false;
    client.on('error', (error: Error) => {
      last = error;
      if (isOpen) onLost(last);
    });
    client.on('end', () => isOpen && onLost(last));
    const destroy = () => {
      isOpen = false;
      if (client.isOpen) client.destroy();
    };
    try {
      await within(this.#clock, openTimeoutMs, client.connect());
    } catch (error) {
      destroy();
      throw error;
    }
    isOpen = true;
    return { send: (command) => client.sendCommand(command), destroy };
  }

  /** Sends one command on its own connection. Rejects if there is no answer within `askTimeoutMs`. */
  ask(host: HostPort, role: 'data' | 'sentinel', command: RedisArguments): Promise<unknown> {
    const asking = this.open(host, role, () => {}).then((client) => client.send(command).finally(() => client.destroy()));
    return within(this.#clock, askTimeoutMs, asking);
  }

  #credentials(role: 'data' | 'sentinel') {
    const { username, password } = (role === 'data' ? this.#address : this.#sentinel) ?? { username: '', password: '' };
    return {
      ...(username === '' ? {} : { username }),
      ...(password === '' ? {} : { password }),
      ...(role === 'data' ? { database: this.#address.database } : {}),
    };
  }
}

/** Returns the result of a promise. Rejects if it takes longer than `maxMs` milliseconds. */
export async function within<T>(clock: Clock, maxMs: number, running: Promise<T>): Promise<T> {
  let timer: Timer | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = clock.after(maxMs, () => reject(new Error(`no answer within ${maxMs / 1000} s`)));
  });
  try {
    return await Promise.race([running, timeout]);
  } finally {
    timer?.cancel();
  }
}
