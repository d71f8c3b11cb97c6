import { hostname } from 'node:os';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/reading/load.ts';
import { type Config, isFileService } from '../../config/schema/schema.ts';
import type { LogOptions } from '../../lib/log.ts';

/** All data that a node gets from its supervisor at the start. */
export interface NodeSetup {
  /** From 1; a replacement gets the same number, and so the same data folder and name. */
  number: number;
  /** How many nodes there are. */
  nodes: number;
  /** Without `source`, which cannot be sent in a message. */
  loaded: LoadedConfig;
  /** The file that it was read from; undefined for a configuration without one. */
  configPath: string | undefined;
  /** The data folder of the configuration, with its links resolved. */
  dataFolderPath: string;
  log: Pick<LogOptions, 'level' | 'format' | 'colour'>;
  /** Of the keys of TLS tickets. */
  ticketSecret: Buffer;
  /** Files that only root may read, by path, with their content from the start. */
  files: ReadonlyMap<string, Buffer>;
}

/** The data folder of one of several nodes. */
export function nodeFolder({ dataFolderPath, number }: Pick<NodeSetup, 'dataFolderPath' | 'number'>): string {
  return join(dataFolderPath, 'nodes', String(number));
}

/** Each node gets an equal share of these limits. */
const shared = /^maximum_(concurrent|unauthenticated)_connections/;

/**
 * The configuration of one of several nodes on the same addresses: with its own name and data folder, and a share of the limits; unchanged
 * without a setup. Only the first node has the consoles, because their sessions are in its memory.
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
