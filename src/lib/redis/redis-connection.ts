import type { Clock, Timer } from '../clock.ts';
import { ClientConnector, type ConnectorOptions, type HostPort, type RedisArguments, type RedisClient } from './redis-connector.ts';
import type { RedisAddress } from './redis-url.ts';

/** Finds the Redis server that has the data: the single server, the primary, or the node of the cluster that owns the slot. */
interface PrimaryFinder {
  /**
   * Whether to check regularly that the server still has the data. A primary that is cut off from Sentinel does not know that it was
   * replaced. A cluster node needs no check: when it no longer has the data, it answers MOVED or does not answer.
   */
  readonly mustCheck: boolean;
  /** @throws Error if no server answers, or none has the data */
  find(): Promise<HostPort>;
}

/** @param slotKey any of the service's keys, which are all in one cluster slot */
function createFinder(address: RedisAddress, slotKey: string, connector: ClientConnector): PrimaryFinder {
  const { kind, hosts } = address;
  switch (kind) {
    case 'single':
      return { mustCheck: false, find: async () => hosts[0] as HostPort };
    case 'sentinel':
      return { mustCheck: true, find: () => askSentinels(hosts, address.primaryName, connector) };
    case 'cluster':
      return new ClusterFinder(hosts, slotKey, connector);
    default:
      return kind satisfies never;
  }
}

/**
 * Asks all Sentinels, and uses the answer with the latest failover. A Sentinel that is cut off from the other Sentinels would still
 * name the old primary.
 *
 * https://redis.io/docs/latest/develop/reference/sentinel-clients/
 */
async function askSentinels(hosts: readonly HostPort[], name: string, connector: ClientConnector): Promise<HostPort> {
  const answers = await Promise.allSettled(hosts.map((host) => connector.ask(host, 'sentinel', ['SENTINEL', 'MASTER', name])));
  let found: { host: string; port: number; epoch: number } | undefined;
  for (const answer of answers) {
    if (answer.status === 'rejected') continue;
    const fields = answer.value as string[];
    const field = (key: string) => fields[fields.indexOf(key) + 1] ?? '';
    const epoch = Number(field('config-epoch'));
    if (!found || epoch > found.epoch) found = { host: field('ip'), port: Number(field('port')), epoch };
  }
  if (found) return { host: found.host, port: found.port };
  const reasons = answers.map((answer) => String((answer as PromiseRejectedResult).reason?.message));
  throw new Error(`no Sentinel says where ${name} is: ${[...new Set(reasons)].join('; ')}`);
}

type SlotRange = [first: number, last: number, primary: [host: string | null, port: number], ...replicas: [string | null, number][]];

/** Finds the node of a cluster that owns a slot. For this, it asks any reachable node that the URL or an earlier answer names. */
class ClusterFinder implements PrimaryFinder {
  readonly mustCheck = false;
  readonly #seeds: readonly HostPort[];
  readonly #slotKey: string;
  readonly #connector: ClientConnector;
  /** The nodes to ask. Each search starts with another node, because a node that is cut off from the other nodes has old information. */
  #nodes: HostPort[];
  #slot: number | undefined;

  constructor(seeds: readonly HostPort[], slotKey: string, connector: ClientConnector) {
    this.#seeds = seeds;
    this.#nodes = [...seeds];
    this.#slotKey = slotKey;
    this.#connector = connector;
  }

  async find(): Promise<HostPort> {
    const reasons = new Set<string>();
    this.#nodes = [...this.#nodes.slice(1), ...this.#nodes.slice(0, 1)];
    for (const node of [...this.#nodes]) {
      try {
        return await this.#askNode(node);
      } catch (error) {
        reasons.add((error as Error).message);
      }
    }
    throw new Error(`no node of the cluster reports where the data is: ${[...reasons].join('; ')}`);
  }

  async #askNode(node: HostPort): Promise<HostPort> {
    this.#slot ??= Number(await this.#connector.ask(node, 'data', ['CLUSTER', 'KEYSLOT', this.#slotKey]));
    const slot = this.#slot;
    const ranges = (await this.#connector.ask(node, 'data', ['CLUSTER', 'SLOTS'])) as SlotRange[];
    // A node that does not know its own address leaves it out. In that case, the address at which the node was asked is used.
    const at = ([host, port]: [string | null, number]): HostPort => ({
      host: host === null || host === '' || host === '?' ? node.host : host,
      port,
    });
    const range = ranges.find(([first, last]) => first <= slot && slot <= last);
    if (!range) throw new Error(`slot ${slot} has no owner`);
    const heard = ranges.flatMap(([, , ...servers]) => servers.map(at));
    this.#nodes = [...new Map([node, ...heard, ...this.#seeds].map((host) => [`${host.host}:${host.port}`, host])).values()];
    return at(range[2]);
  }
}

export interface ConnectionDependencies extends ConnectorOptions {
  /** Any of the service's keys, which are all in one cluster slot. */
  slotKey: string;
  onError: (error: Error) => void;
}

/** Returns the pause before an attempt to reconnect, in milliseconds. @param attempt number of earlier attempts */
const reconnectDelayMs = (attempt: number) => Math.min(50 * 2 ** attempt, 1000);

/** Interval in milliseconds at which Sentinel is asked which server has the data. */
const checkEveryMs = 5000;

/**
 * Matches errors of a server that does not have the data, because the slot or the role of the primary has moved to another server.
 *
 * https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding
 */
const elsewhere = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|MASTERDOWN)\b/;

/**
 * A connection to the server that has the data. It is replaced if it breaks or the data moves. The Sentinel and cluster clients of the
 * library are not used, because they repeat a command after the connection broke, although the server may already have executed the
 * command.
 */
export class RedisConnection {
  readonly #finder: PrimaryFinder;
  readonly #connector: ClientConnector;
  readonly #clock: Clock;
  readonly #onError: (error: Error) => void;
  #client: { at: HostPort; client: RedisClient } | undefined;
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

  /** Connects, and reconnects automatically. */
  connect(): void {
    void this.#connect();
  }

  /** Sends a command. Rejects if there is no connection, or if the connection breaks. A command is never sent twice. */
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
    // The current server is kept if no Sentinel answers, or if the server is still the primary.
    if (!found || (found.host === held.at.host && found.port === held.at.port)) this.#checkLater();
    else this.#leave(held.client, new Error(`the data is at ${found.host}:${found.port} now`));
  }
}
