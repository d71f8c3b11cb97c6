import { runProgram } from './program.ts';
import { until } from './receiver.ts';
import { freePort, isFree, markAsUsed, type RedisOptions, startRedis, type TestRedis } from './redis.ts';
import { type Ending, temporaryFolder } from './temp.ts';

/** Sentinel's name for the primary. */
export const primaryName = 'ours';

/** A primary, its replica, and the Sentinels that watch them. */
export interface SentinelGroup {
  /** `host:port` of the Sentinels and the primary's name, without a scheme. */
  address: string;
  url: string;
  primary: TestRedis;
  replica: TestRedis;
  sentinels: TestRedis[];
}

export interface GroupOptions {
  /** Options of the Redis servers. */
  redis?: string[];
  /** Options of the Sentinels: those of the program, and lines of the configuration. */
  sentinel?: string[];
  lines?: string[];
  how?: Pick<RedisOptions, 'cli' | 'listen'>;
}

/** Starts a primary, a replica and three Sentinels, which consider a server down after a second. */
export async function startSentinelGroup(
  t: Ending,
  { redis = [], sentinel = [], lines = [], how = {} }: GroupOptions = {},
): Promise<SentinelGroup> {
  const primary = await startRedis(t, redis, { ...how, isFresh: true });
  const replicaOptions = ['--replicaof', `127.0.0.1 ${primary.port}`, '--repl-diskless-sync-delay', '0'];
  const replica = await startRedis(t, [...redis, ...replicaOptions], { ...how, isFresh: true });
  await until('the replica follows', async () => /master_link_status:up/.test(await replica.command('INFO replication')));
  await markAsUsed(primary.command);
  // The configuration tells the Sentinels about each other, because discovery takes up to ten seconds.
  const ids = [0, 1, 2].map((index) => String(index).repeat(40));
  const ports = [await freePort(), await freePort(), await freePort()];
  const configuration = (own: number) =>
    [
      `sentinel myid ${ids[own]}`,
      `sentinel monitor ${primaryName} 127.0.0.1 ${primary.port} 2`,
      `sentinel down-after-milliseconds ${primaryName} 1000`,
      `sentinel failover-timeout ${primaryName} 10000`,
      `sentinel known-replica ${primaryName} 127.0.0.1 ${replica.port}`,
      ...ids.flatMap((id, other) => (other === own ? [] : [`sentinel known-sentinel ${primaryName} 127.0.0.1 ${ports[other]} ${id}`])),
      ...lines,
      '',
    ].join('\n');
  const sentinels = await Promise.all(
    ports.map((port, index) => startRedis(t, sentinel, { ...how, port, isFresh: true, sentinel: configuration(index) })),
  );
  for (const one of sentinels)
    await until('the Sentinels know each other and the replica', async () => {
      const flat = (await one.command(`SENTINEL MASTER ${primaryName}`)).replaceAll(/\r?\n(\$\d+\r\n)?/g, ' ');
      return / num-other-sentinels 2 /.test(flat) && / num-slaves 1 /.test(flat);
    });
  const address = `${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${primaryName}`;
  return { address, url: `redis+sentinel://${address}`, primary, replica, sentinels };
}

/** Waits until the replica has all data that its primary has now. (The command WAIT only waits for writes of its own connection.) */
export async function untilReplicated(primary: TestRedis): Promise<void> {
  const offsets = async () => {
    const info = await primary.command('INFO replication');
    return { own: Number(/master_repl_offset:(\d+)/.exec(info)?.[1]), replica: Number(/state=online,offset=(\d+)/.exec(info)?.[1] ?? -1) };
  };
  const { own } = await offsets();
  await until('the replica is up to date', async () => (await offsets()).replica >= own);
}

/** Servers that share the slots of a cluster. They have no replicas until a test adds some. */
export interface Cluster {
  /** `host:port` of all servers, without a scheme. */
  address: string;
  url: string;
  nodes: TestRedis[];
  owner(prefix?: string): Promise<TestRedis>;
  /** Adds a replica of a server. */
  addReplica(of: TestRedis): Promise<TestRedis>;
}

// The bus of a cluster listens at the port plus 10,000. This port must not be in the system's range of dynamic ports, either.
async function clusterPort(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (port < 22_000 && (await isFree(port + 10_000))) return port;
  }
}

/** Starts a cluster of three servers, which consider another server down after a second. */
export async function startCluster(t: Ending, { redis = [], how = {} }: Pick<GroupOptions, 'redis' | 'how'> = {}): Promise<Cluster> {
  const folder = temporaryFolder(t);
  const cli = how.cli ?? [];
  const options = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000', '--repl-diskless-sync-delay', '0', ...redis];
  const startOne = async () => startRedis(t, options, { ...how, cli, isFresh: true, port: await clusterPort() });
  const nodes = [await startOne(), await startOne(), await startOne()];
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const manage = async (...args: string[]) => {
    const { code, output } = await runProgram('redis-cli', ['--no-auth-warning', ...cli, '--cluster', ...args], { cwd: folder });
    if (code !== 0) throw new Error(output);
  };
  await manage('create', ...hosts, '--cluster-yes');
  const isWhole = async (node: TestRedis) => /cluster_state:ok/.test(await node.command('CLUSTER INFO'));
  for (const node of nodes) await until('the cluster is whole', () => isWhole(node));
  const owner = async (prefix = 'svc') => {
    const keys = `GET {${prefix}}:`;
    for (const node of nodes) if (!/MOVED/.test(await node.command(keys).catch(() => 'MOVED'))) return node;
    throw new Error('no server has the slot');
  };
  return {
    address: hosts.join(','),
    url: `redis+cluster://${hosts.join(',')}`,
    nodes,
    owner,
    async addReplica(of) {
      const replica = await startOne();
      const id = (await of.command('CLUSTER MYID')).trim();
      await manage('add-node', `127.0.0.1:${replica.port}`, `127.0.0.1:${of.port}`, '--cluster-slave', '--cluster-master-id', id);
      await until('the replica follows', async () => /master_link_status:up/.test(await replica.command('INFO replication')));
      nodes.push(replica);
      return replica;
    },
  };
}
