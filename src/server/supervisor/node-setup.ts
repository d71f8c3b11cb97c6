import { hostname } from 'node:os';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/reading/load.ts';
import { type Config, isFileService } from '../../config/schema/schema.ts';
import type { LogOptions } from '../../lib/log.ts';

/** The data that a node gets from its supervisor when it starts. */
export interface NodeSetup {
  /** Number of the node, counted from 1. A replacement gets the same number, so it has the same data folder and name. */
  number: number;
  /** Total number of nodes. */
  nodes: number;
  /** The configuration. It has no `source`, which cannot be sent in a message. */
  loaded: LoadedConfig;
  /** Path of the configuration file; undefined if the configuration has no file. */
  configPath: string | undefined;
  /** The data folder of the configuration, with its symbolic links resolved. */
  dataFolderPath: string;
  log: Pick<LogOptions, 'level' | 'format' | 'colour'>;
  /** Secret of the keys for TLS tickets. */
  ticketSecret: Buffer;
  /** Content of files that only root may read, by path. It was read at the start. */
  files: ReadonlyMap<string, Buffer>;
}

/** Returns the data folder of one of several nodes. */
export function nodeFolder({ dataFolderPath, number }: Pick<NodeSetup, 'dataFolderPath' | 'number'>): string {
  return join(dataFolderPath, 'nodes', String(number));
}

/** Matches the limits of which each node gets an equal share. */
const shared = /^maximum_(concurrent|unauthenticated)_connections/;

/**
 * Returns the configuration of one of several nodes on the same addresses. Each node has its own name and data folder, and a share of the
 * limits. Only the first node has consoles, because the sessions of a console are in the memory of one process. Without a setup, the
 * configuration is unchanged.
 */
export function nodeConfig(config: Config, setup: NodeSetup | undefined): Config {
  if (!setup) return config;
  const { number, nodes } = setup;
  const { server } = config;
  const share = ([name, value]: [string, unknown]) => [name, shared.test(name) ? Math.ceil(Number(value) / nodes) : value];
  const services = Object.entries(config.services).map(([uuid, service]) => {
    if (service.type === 'console') return [uuid, { ...service, enabled: service.enabled && number === 1 }];
    return [uuid, isFileService(service) ? Object.fromEntries(Object.entries(service).map(share)) : service];
  });
  const own = { name: `${server.name || hostname()}-${number}`, data_folder_path: nodeFolder(setup) };
  const file_cache_size = Math.floor(server.file_cache_size / nodes);
  return { ...config, server: { ...server, ...own, file_cache_size }, services: Object.fromEntries(services) };
}
