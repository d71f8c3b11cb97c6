import { createClient, createCluster, createSentinel } from '@redis/client';
import type { RedisAddress } from './redis-url.ts';

export type RedisArguments = (string | Buffer)[];

/** One connection, or a set of them, to wherever the data is at present. */
export interface RedisConnection {
  connect(): Promise<void>;
  /** Sends a command about one key, or about none. Rejects when it cannot be sent or the connection breaks. */
  send(key: string, command: RedisArguments): Promise<unknown>;
  destroy(): void;
}

/** Longest time to connect, in milliseconds. */
const connectTimeoutMs = 3000;

/** Pause before the n-th attempt to connect again, in milliseconds. */
const reconnectDelayMs = (attempt: number) => Math.min(50 * 2 ** attempt, 1000);

/**
 * Makes a connection of an address. It connects again by itself; commands meanwhile are refused, not kept.
 *
 * @param caPem certificate authorities to trust beside the system's
 * @param onError told of troubles of the connection
 */
export function createConnection(address: RedisAddress, caPem: string | undefined, onError: (error: Error) => void): RedisConnection {
  const { hosts, isTls, username, password, database, primaryName } = address;
  const tls = isTls ? { tls: true as const, ...(caPem === undefined ? {} : { ca: caPem }) } : {};
  const credentials = { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
  const common = {
    RESP: 2 as const,
    disableOfflineQueue: true,
    ...credentials,
  };
  const socket = { connectTimeout: connectTimeoutMs, reconnectStrategy: reconnectDelayMs, noDelay: true, keepAlive: true, ...tls };
  switch (address.kind) {
    case 'single': {
      const client = createClient({ ...common, database, socket: { host: hosts[0]?.host ?? '', port: hosts[0]?.port ?? 0, ...socket } });
      client.on('error', onError);
      return {
        connect: async () => void (await client.connect()),
        send: (_, command) => client.sendCommand(command),
        destroy: () => client.destroy(),
      };
    }
    case 'sentinel': {
      const client = createSentinel({
        name: primaryName,
        sentinelRootNodes: hosts,
        nodeClientOptions: { ...common, database, socket },
        sentinelClientOptions: { socket, ...credentials },
        scanInterval: 2000,
        RESP: 2,
      });
      client.on('error', onError);
      return {
        connect: async () => void (await client.connect()),
        send: (_, command) => client.sendCommand(false, command),
        destroy: () => void client.destroy(),
      };
    }
    case 'cluster': {
      const client = createCluster({
        rootNodes: hosts.map(({ host, port }) => ({ socket: { host, port } })),
        defaults: { ...common, socket },
        minimizeConnections: true,
        RESP: 2,
      });
      client.on('error', onError);
      return {
        connect: async () => void (await client.connect()),
        send: (key, command) => client.sendCommand(key, false, command),
        destroy: () => client.destroy(),
      };
    }
    default:
      return address.kind satisfies never;
  }
}
