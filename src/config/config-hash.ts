import { hash } from 'node:crypto';
import { isObject } from '../lib/json.ts';
import type { Config } from './schema/schema.ts';

/** What each node may have for itself, beside the addresses of its services. */
const ownOfServer = ['uuid', 'name', 'data_folder_path'];
const ownOfService = ['address', 'port'];

/**
 * Tells configurations apart: the same for nodes that differ only in name, data folder and addresses.
 *
 * @returns 12 hexadecimal digits of a SHA-256
 */
export function configHash(config: Config): string {
  const services = Object.fromEntries(Object.entries(config.services).map(([uuid, service]) => [uuid, without(service, ownOfService)]));
  const shared = { ...config, server: without(config.server, ownOfServer), services };
  return hash('sha256', JSON.stringify(sorted(shared))).slice(0, 12);
}

function without(value: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

/** The order of keys in a file means nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}
