import { isObject } from '../lib/json.ts';
import { mask } from '../webhooks/payload/payload-extra-data.ts';
import { isHeaderList, maskedText } from './mask-secrets.ts';
import { hasReference } from './reading/interpolate.ts';
import type { LoadedConfig } from './reading/load.ts';

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
