import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../lib/json.ts';
import { mask } from '../webhooks/payload/create-payload.ts';
import { isHeaderList, maskedText } from './masking.ts';
import { hasReference } from './reading/interpolate.ts';
import type { LoadedConfig } from './reading/load.ts';
import type { Config } from './schema/schema.ts';

/** Options that may differ between nodes: those of the server, and those of services. */
const serverOptionsOfNode = ['uuid', 'name', 'data_folder_path'];
const serviceOptionsOfNode = ['address', 'port'];

/**
 * Returns a hash that identifies a configuration. Options that may differ between nodes do not change the hash.
 *
 * @returns 12 digits of a SHA-256 (hex)
 */
export function configHash(config: Config): string {
  const services = Object.fromEntries(
    Object.entries(config.services).map(([uuid, service]) => [uuid, without(service, serviceOptionsOfNode)]),
  );
  const shared = { ...config, server: without(config.server, serverOptionsOfNode), services };
  return hash('sha256', JSON.stringify(sorted(shared))).slice(0, 12);
}

function without(value: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

/** Sorts keys, because their order in a file does not matter. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}

/** Maximum number of changes that are listed. */
const maxListed = 100;

/** Lists the paths of changed options, such as `services.web.port`. Leaves out the values, because they may be secrets. */
export function changesBetween(before: Config, after: Config): string[] {
  return differences(before, after).map((path) => path.join('.'));
}

export interface MaskedChange {
  path: string;
  /** Values before and after the change; undefined if the configuration does not contain the option. */
  old?: unknown;
  new?: unknown;
}

/** Lists the options that a reload would change, with their values. Secrets are masked. */
export function maskedChanges(before: LoadedConfig, after: LoadedConfig): MaskedChange[] {
  const [old, next] = [maskedConfig(before), maskedConfig(after)];
  return differences(before.config, after.config).map((path) => ({
    path: path.join('.'),
    old: maskedAt(old, path),
    new: maskedAt(next, path),
  }));
}

/** Returns a message if one of these changes needs a restart; undefined if a reload is enough for all. */
export function needsRestart(changes: readonly string[]): string | undefined {
  const isFixed = (path: string) => path.startsWith('server.data_folder_path') || path.startsWith('server.state') || path === 'server.uuid';
  return changes.some(isFixed) ? 'Changes of server.data_folder_path, server.state and server.uuid need a restart.' : undefined;
}

function differences(before: Config, after: Config): string[][] {
  const changes: string[][] = [];
  const compare = (a: unknown, b: unknown, path: string[]): void => {
    if (isDeepStrictEqual(a, b) || changes.length >= maxListed) return;
    if (isObject(a) && isObject(b)) {
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) compare(a[key], b[key], [...path, key]);
      return;
    }
    changes.push(path);
  };
  compare(before, after, []);
  return changes;
}

/** Returns the masked value at a path. If a parent is masked as a whole, returns the mask. */
function maskedAt(masked: unknown, path: readonly string[]): unknown {
  let value = masked;
  for (const name of path) {
    if (!isObject(value)) return value;
    value = Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/**
 * Returns a configuration for operators who must not know its secrets. It masks passwords, hashes, keys, header values, all values that
 * come from a variable or a file (`${env:…}`, `${file:…}`), and in each URL the user name and the query.
 */
export function maskedConfig({ config, source }: LoadedConfig): Record<string, unknown> {
  const masked = masksIn(config, []) as Record<string, unknown>;
  for (const path of source ? findReferences(source.value, []) : []) hide(masked, path);
  return masked;
}

function masksIn(value: unknown, path: readonly string[]): unknown {
  if (typeof value === 'string') return maskedText(value, path);
  if (Array.isArray(value)) {
    // The items of a header list are `[name, value]` pairs.
    if (isHeaderList(path)) return value.map(([name]) => [name, mask]);
    return value.map((item) => masksIn(item, path));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, masksIn(member, [...path, name])]));
}

/** Finds the paths of options whose texts refer to a variable or a file. */
function findReferences(value: unknown, path: readonly string[]): string[][] {
  if (typeof value === 'string') return hasReference(value) ? [[...path]] : [];
  // The path of the whole list is returned, because parsing may change the order of its items.
  if (Array.isArray(value)) return value.some((item) => findReferences(item, path).length > 0) ? [[...path]] : [];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => findReferences(member, [...path, name]));
}

/**
 * Masks the value at a path of the configuration file. If the loaded option has a different structure than the file, the whole option is
 * masked.
 */
function hide(masked: Record<string, unknown>, path: readonly string[]): void {
  let holder = masked;
  for (const [index, name] of path.entries()) {
    if (!Object.hasOwn(holder, name)) break;
    const member = holder[name];
    if (index < path.length - 1 && isObject(member) && (index < 2 || Object.hasOwn(member, path[index + 1] as string))) {
      holder = member;
      continue;
    }
    holder[name] = mask;
    // For a handler with `http_content_type: custom`, loading moves the value of `extra_data` to `custom_body`.
    if (path[0] === 'event_handlers' && name === 'extra_data' && index === 2) holder.custom_body = mask;
    break;
  }
}
