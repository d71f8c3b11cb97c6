import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../config/schema/schema.ts';
import type { NodeSetup } from './protocol.ts';

/** The data folder of one of several nodes. */
export function nodeFolder(dataFolderPath: string, number: number): string {
  return join(dataFolderPath, 'nodes', String(number));
}

/**
 * The configuration as one of several nodes on the same addresses goes by it: with a name and a data folder of its own, and a share of
 * what is limited; without a setup, as it is. The first node alone has the consoles: their sessions are in its memory.
 */
export function nodeConfig(config: Config, setup: Pick<NodeSetup, 'dataFolderPath' | 'number' | 'nodes'> | undefined): Config {
  if (!setup) return config;
  const { dataFolderPath, number, nodes } = setup;
  const share = (limit: number) => Math.ceil(limit / nodes);
  const { server } = config;
  const services = Object.entries(config.services).map(([uuid, service]): [string, Config['services'][string]] => {
    if (service.type === 'monitor') return [uuid, service];
    if (service.type === 'console') return [uuid, { ...service, enabled: service.enabled && number === 1 }];
    const maximum_concurrent_connections = share(service.maximum_concurrent_connections);
    if (service.type !== 'ssh') return [uuid, { ...service, maximum_concurrent_connections }];
    const maximum_unauthenticated_connections = share(service.maximum_unauthenticated_connections);
    const maximum_unauthenticated_connections_per_address = share(service.maximum_unauthenticated_connections_per_address);
    const limits = { maximum_concurrent_connections, maximum_unauthenticated_connections, maximum_unauthenticated_connections_per_address };
    return [uuid, { ...service, ...limits }];
  });
  return {
    ...config,
    server: {
      ...server,
      name: `${server.name || hostname()}-${number}`,
      data_folder_path: nodeFolder(dataFolderPath, number),
      file_cache_size: Math.floor(server.file_cache_size / nodes),
    },
    services: Object.fromEntries(services),
  };
}
