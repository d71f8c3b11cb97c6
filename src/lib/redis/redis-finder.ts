import type { ClientConnector, HostPort } from './redis-connector.ts';
import type { RedisAddress } from './redis-url.ts';

/** Knows where the data is at present. */
export interface PrimaryFinder {
  /**
   * Whether the server itself does not always say that the data went elsewhere: a primary that is cut off from Sentinel does not know, while
   * one of a cluster answers MOVED, or nothing when it is cut off.
   */
  readonly mustCheck: boolean;
  /** @throws Error when nobody who could know answers, or nobody has the data */
  find(): Promise<HostPort>;
}

/** Makes what finds the server that has the data. @param slotKey a key in the slot that all keys are in */
export function createFinder(address: RedisAddress, slotKey: string, connector: ClientConnector): PrimaryFinder {
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
 * Asks all Sentinels, and believes the one that knows of the latest failover: one that was cut off from the others still names the
 * old primary. https://redis.io/docs/latest/develop/reference/sentinel-clients/
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

/** Finds the owner of one slot, at any node of a cluster that answers; those of the URL and those heard of. */
class ClusterFinder implements PrimaryFinder {
  readonly mustCheck = false;
  readonly #seeds: readonly HostPort[];
  readonly #slotKey: string;
  readonly #connector: ClientConnector;
  /** Who is asked; each time another first, as one that is cut off from the others answers what was true before. */
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
    throw new Error(`no node of the cluster says where the data is: ${[...reasons].join('; ')}`);
  }

  async #askNode(node: HostPort): Promise<HostPort> {
    this.#slot ??= Number(await this.#connector.ask(node, 'data', ['CLUSTER', 'KEYSLOT', this.#slotKey]));
    const slot = this.#slot;
    const ranges = (await this.#connector.ask(node, 'data', ['CLUSTER', 'SLOTS'])) as SlotRange[];
    // A node that does not know its own address leaves it out: it is where it was asked.
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
