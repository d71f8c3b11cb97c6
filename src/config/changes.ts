import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../lib/json.ts';
import { mask } from '../webhooks/payload/payload-extra-data.ts';
import { isHeaderList, maskedText } from './masking.ts';
import { hasReference } from './reading/interpolate.ts';
import type { LoadedConfig } from './reading/load.ts';
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

/** Most changes that are listed one by one. */
const maxListed = 100;

/**
 * The options that differ between two configurations, as paths (`services.web.port`); values are not shown, they may be
 * secrets.
 */
export function changesBetween(before: Config, after: Config): string[] {
  return differences(before, after).map((path) => path.join('.'));
}

/** An option that a reload would change; secrets are masked. */
export interface MaskedChange {
  path: string;
  /** Undefined where there is none. */
  old?: unknown;
  new?: unknown;
}

/** The options that differ, with their values; of a secret it is only told that it differs. */
export function maskedChanges(before: LoadedConfig, after: LoadedConfig): MaskedChange[] {
  const [old, next] = [maskedConfig(before), maskedConfig(after)];
  return differences(before.config, after.config).map((path) => ({
    path: path.join('.'),
    old: shownAt(old, path),
    new: shownAt(next, path),
  }));
}

/** Why a running server cannot take over changes of these options; undefined when it can. */
export function needsRestart(changes: readonly string[]): string | undefined {
  const isFixed = (path: string) => path.startsWith('server.data_folder_path') || path.startsWith('server.state') || path === 'server.uuid';
  return changes.some(isFixed) ? 'data_folder_path, state and uuid of the server only change with a restart.' : undefined;
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

/** What is shown at a path: a mask may stand further up. */
function shownAt(masked: unknown, path: readonly string[]): unknown {
  let value = masked;
  for (const name of path) {
    if (!isObject(value)) return value;
    value = Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/**
 * A configuration as those may see it who run the server and know none of its secrets: no passwords, hashes, keys and values of headers, no user
 * names and queries in URLs, and nothing that comes from a variable or a file (`${env:…}`, `${file:…}`).
 */
export function maskedConfig({ config, source }: LoadedConfig): Record<string, unknown> {
  const masked = masksIn(config, []) as Record<string, unknown>;
  for (const path of source ? referencesIn(source.value, []) : []) hide(masked, path);
  return masked;
}

function masksIn(value: unknown, path: readonly string[]): unknown {
  if (typeof value === 'string') return maskedText(value, path);
  if (Array.isArray(value)) {
    // `[name, value]` pairs.
    if (isHeaderList(path)) return value.map(([name]) => [name, mask]);
    return value.map((item) => masksIn(item, path));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, masksIn(member, [...path, name])]));
}

/** The places in a file where a variable or a file is asked for. */
function referencesIn(value: unknown, path: readonly string[]): string[][] {
  if (typeof value === 'string') return hasReference(value) ? [[...path]] : [];
  // What an option makes of a list has its own order.
  if (Array.isArray(value)) return value.some((item) => referencesIn(item, path).length > 0) ? [[...path]] : [];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => referencesIn(member, [...path, name]));
}

/** Hides what stands at a place of the file, or all of the option that it was made into. */
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
    // A body of a form of its own is made of this option.
    if (path[0] === 'event_handlers' && name === 'extra_data' && index === 2) holder.custom_body = mask;
    break;
  }
}
