import { isObject } from '../lib/json.ts';
import { shownUrl } from '../lib/remote/shown-url.ts';
import { maskSecrets } from './mask-secrets.ts';
import { hasReference } from './reading/interpolate.ts';
import type { LoadedConfig } from './reading/load.ts';

/** Stands for a secret. */
export const mask = '***';

/** Names of options whose texts are secrets, or would be of use to who guesses one. */
const secretName = /password|secret|token|hash|authorization|^ssh_keys$|^certificates$/i;

/** Names of members that whoever configures a body is free to choose. */
const secretMember = /password|secret|token|key|auth|credential|signature/i;

/** Lists of headers: their names are shown. */
const headerLists = new Set(['headers', 'api_partial_success_headers']);

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
    if (headerLists.has(path[2] ?? '')) return value.map(([name]) => [name, mask]);
    return value.map((item) => masksIn(item, path));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, masksIn(member, [...path, name])]));
}

function maskedText(text: string, path: readonly string[]): string {
  if (text === '') return text;
  if (isSecret(path)) return mask;
  if (path.at(-1) === 'url' || /^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return shownUrl(text).replace(/#.*$/s, '#…');
  return maskedUrls(path[2] === 'custom_body' ? text.split('\n').map(maskSecrets).join('\n') : text);
}

function isSecret([section, entry, ...options]: readonly string[]): boolean {
  if (section === 'server') return entry !== 'password_policy' && [entry ?? '', ...options].some((name) => secretName.test(name));
  const [option = ''] = options;
  if (option === 'extra_data') return options.some((name) => secretMember.test(name));
  return options.some((name) => secretName.test(name) && !name.endsWith('_path'));
}

/** Takes from the URLs within a text what `shownUrl` takes from one. */
function maskedUrls(text: string): string {
  return text.replace(/(:\/\/)[^\s/?#"'<>]*@/g, '$1').replace(/(:\/\/[^\s?#"'<>]*)([?#])[^\s"'<>]*/g, '$1$2…');
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
