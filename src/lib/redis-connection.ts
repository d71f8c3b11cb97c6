import { rootCertificates } from 'node:tls';
import { createClient } from '@redis/client';
import type { Clock, Timer } from './clock.ts';
import { createFinder, type HostPort, type PrimaryFinder } from './redis-finder.ts';
import type { RedisAddress } from './redis-url.ts';

export type RedisArguments = (string | Buffer)[];

/** A connection to the server that has the data at present. */
export interface RedisConnection {
  /** Begins to connect, and connects again by itself, wherever the data is by then. */
  connect(): void;
  /** Sends a command. Rejects when there is no connection or it breaks; a command is never sent twice. */
  send(command: RedisArguments): Promise<unknown>;
  destroy(): void;
}

export interface ConnectionSurroundings {
  /** A key in the slot of a cluster that all keys are in. */
  slotKey: string;
  /** Certificate authorities to trust beside the system's. */
  caPem: string | undefined;
  /** Credentials for Sentinel, which those of the URL are not. */
  sentinel: { username: string; password: string } | undefined;
  clock: Clock;
  /** Told of troubles of the connection. */
  onError: (error: Error) => void;
}

/** What the connections of one address have in common. */
export interface RedisDoor {
  /** Opens a connection that does not connect again by itself. Rejects when that fails. */
  open(host: HostPort, role: 'data' | 'sentinel', onLost: (error: Error) => void): Promise<RedisClient>;
  /** Asks one server one thing, on a connection of its own. Rejects when it does not answer in `askTimeoutMs`. */
  ask(host: HostPort, role: 'data' | 'sentinel', command: RedisArguments): Promise<unknown>;
}

export interface RedisClient {
  send(command: RedisArguments): Promise<unknown>;
  destroy(): void;
}

/** Longest time to connect and log in, in milliseconds. */
const openTimeoutMs = 3000;

/** Longest time that Sentinel or a node of a cluster may take to connect and answer, in milliseconds. */
const askTimeoutMs = 1500;

/** Pause before the n-th attempt to connect again, in milliseconds. */
const reconnectDelayMs = (attempt: number) => Math.min(50 * 2 ** attempt, 1000);

/** How often Sentinel or the cluster is asked whether the data is still where it was, in milliseconds. */
const checkEveryMs = 5000;

/**
 * Errors that say that this server is not the one to ask (any more): the slot or the role of primary went elsewhere.
 * https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding
 */
const elsewhere = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|MASTERDOWN)\b/;

/**
 * Makes a connection of an address. Sentinel and clusters are asked where the data is; the rest is the same for all: one connection
 * to one server, given up for another when it breaks or another has the data. The client library's own Sentinel and cluster
 * clients are not used: they send a command again whose connection broke, though it may have been carried out.
 *
 */
export function createConnection(address: RedisAddress, surroundings: ConnectionSurroundings): RedisConnection {
  const { slotKey, clock, onError } = surroundings;
  const door = new Door(address, surroundings);
  return new PrimaryConnection(createFinder(address, slotKey, door), door, clock, onError);
}

class PrimaryConnection implements RedisConnection {
  readonly #finder: PrimaryFinder;
  readonly #door: RedisDoor;
  readonly #clock: Clock;
  readonly #onError: (error: Error) => void;
  #client: { at: HostPort; client: RedisClient } | undefined;
  /** Why there is no connection. */
  #reason = new Error('not connected yet');
  #attempts = 0;
  #timer: Timer | undefined;
  #isDestroyed = false;

  constructor(finder: PrimaryFinder, door: RedisDoor, clock: Clock, onError: (error: Error) => void) {
    this.#finder = finder;
    this.#door = door;
    this.#clock = clock;
    this.#onError = onError;
  }

  connect(): void {
    void this.#connect();
  }

  async send(command: RedisArguments): Promise<unknown> {
    const held = this.#client;
    if (!held) throw this.#reason;
    try {
      return await held.client.send(command);
    } catch (error) {
      if (elsewhere.test((error as Error).message)) this.#leave(held.client, error as Error);
      throw error;
    }
  }

  destroy(): void {
    this.#isDestroyed = true;
    this.#timer?.cancel();
    const held = this.#client;
    this.#client = undefined;
    held?.client.destroy();
  }

  async #connect(): Promise<void> {
    try {
      const at = await this.#finder.find();
      if (this.#isDestroyed) return;
      const client = await this.#door.open(at, 'data', (error) => this.#leave(client, error));
      if (this.#isDestroyed) return client.destroy();
      this.#client = { at, client };
      this.#attempts = 0;
      if (this.#finder.canMove) this.#checkLater();
    } catch (error) {
      this.#reason = error as Error;
      this.#onError(this.#reason);
      this.#connectLater();
    }
  }

  #connectLater(): void {
    if (this.#isDestroyed) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(reconnectDelayMs(this.#attempts++), () => void this.#connect());
  }

  #leave(client: RedisClient, error: Error): void {
    if (this.#client?.client !== client) return;
    this.#client = undefined;
    client.destroy();
    this.#reason = error;
    this.#onError(error);
    this.#connectLater();
  }

  #checkLater(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(checkEveryMs, () => void this.#check());
  }

  async #check(): Promise<void> {
    const held = this.#client;
    if (!held) return;
    const found = await this.#finder.find().catch(() => undefined);
    if (this.#client !== held) return;
    // Nobody who could say so is no reason to leave a server that answers.
    if (!found || (found.host === held.at.host && found.port === held.at.port)) this.#checkLater();
    else this.#leave(held.client, new Error(`the data is at ${found.host}:${found.port} now`));
  }
}

class Door implements RedisDoor {
  readonly #address: RedisAddress;
  readonly #sentinel: ConnectionSurroundings['sentinel'];
  readonly #tls: { tls: true; ca?: string[] } | undefined;
  readonly #clock: Clock;

  constructor(address: RedisAddress, { caPem, sentinel, clock }: ConnectionSurroundings) {
    this.#address = address;
    this.#sentinel = sentinel;
    this.#tls = address.isTls ? { tls: true, ...(caPem === undefined ? {} : { ca: [...rootCertificates, caPem] }) } : undefined;
    this.#clock = clock;
  }

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
      await this.#within(openTimeoutMs, client.connect());
    } catch (error) {
      destroy();
      throw error;
    }
    isOpen = true;
    return { send: (command) => client.sendCommand(command), destroy };
  }

  ask(host: HostPort, role: 'data' | 'sentinel', command: RedisArguments): Promise<unknown> {
    const asking = this.open(host, role, () => {}).then((client) => client.send(command).finally(() => client.destroy()));
    return this.#within(askTimeoutMs, asking);
  }

  /** Rejects when something takes too long. */
  async #within<T>(longestMs: number, running: Promise<T>): Promise<T> {
    let timer: Timer | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = this.#clock.after(longestMs, () => reject(new Error(`no answer within ${longestMs / 1000} s`)));
    });
    try {
      return await Promise.race([running, timeout]);
    } finally {
      timer?.cancel();
    }
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
