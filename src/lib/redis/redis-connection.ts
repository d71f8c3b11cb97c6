import type { Clock, Timer } from '../clock.ts';
import { ClientConnector, type ConnectorOptions, type HostPort, type RedisArguments, type RedisClient } from './redis-connector.ts';
import { createFinder, type PrimaryFinder } from './redis-finder.ts';
import type { RedisAddress } from './redis-url.ts';

export interface ConnectionDependencies extends ConnectorOptions {
  /** A key in the slot of a cluster that all keys are in. */
  slotKey: string;
  /** Told of troubles of the connection. */
  onError: (error: Error) => void;
}

/** Pause before the n-th attempt to connect again, in milliseconds. */
const reconnectDelayMs = (attempt: number) => Math.min(50 * 2 ** attempt, 1000);

/** How often Sentinel is asked whether the data is still where it was, in milliseconds. */
const checkEveryMs = 5000;

/**
 * Errors that say that this server is not the one to ask (any more): the slot or the role of primary went elsewhere.
 * https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding
 */
const elsewhere = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|MASTERDOWN)\b/;

/**
 * A connection to the server that has the data at present. Sentinel and clusters are asked where the data is; the rest is the
 * same for all: one connection to one server, given up for another when it breaks or another has the data. The client library's
 * own Sentinel and cluster clients are not used: they send a command again whose connection broke, though it may have been
 * carried out.
 */
export class RedisConnection {
  readonly #finder: PrimaryFinder;
  readonly #connector: ClientConnector;
  readonly #clock: Clock;
  readonly #onError: (error: Error) => void;
  #client: { at: HostPort; client: RedisClient } | undefined;
  /** Why there is no connection. */
  #reason = new Error('not connected yet');
  #attempts = 0;
  #timer: Timer | undefined;
  #isDestroyed = false;

  constructor(address: RedisAddress, dependencies: ConnectionDependencies) {
    this.#connector = new ClientConnector(address, dependencies);
    this.#finder = createFinder(address, dependencies.slotKey, this.#connector);
    this.#clock = dependencies.clock;
    this.#onError = dependencies.onError;
  }

  /** Begins to connect, and connects again by itself, wherever the data is by then. */
  connect(): void {
    void this.#connect();
  }

  /** Sends a command. Rejects when there is no connection or it breaks; a command is never sent twice. */
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
      const client = await this.#connector.open(at, 'data', (error) => this.#leave(client, error));
      if (this.#isDestroyed) return client.destroy();
      this.#client = { at, client };
      this.#attempts = 0;
      if (this.#finder.mustCheck) this.#checkLater();
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
