import { isIP, isIPv4, isIPv6 } from 'node:net';

/** The address of a client as a proxy reports it; port 0 when the proxy gives none. */
export interface ForwardedClient {
  address: string;
  port: number;
}

/**
 * Writes an address the way the service shows it: IPv4-mapped IPv6 as IPv4 (docs/spec/authentication.md#client-address), without
 * a zone, in lower case.
 */
export function normaliseAddress(address: string): string {
  const bare = (address.split('%', 1)[0] as string).toLowerCase();
  const mapped = /^(?:::ffff:|0:0:0:0:0:ffff:)(\d+\.\d+\.\d+\.\d+)$/.exec(bare);
  return mapped?.[1] ?? bare;
}

/** The family of an address as events name it. */
export function addressFamily(address: string): 'IPv4' | 'IPv6' {
  return isIPv6(address) ? 'IPv6' : 'IPv4';
}

/**
 * Finds the client behind proxies: the rightmost address that is not a trusted proxy's, as each proxy appends its caller and a client may
 * have written the rest. If all are trusted it is the first address.
 *
 * @param headerName name of the header that the proxies write: `Forwarded` (RFC 7239), or one with a list as `X-Forwarded-For`
 * @param isTrusted whether an address is that of a trusted proxy
 * @returns undefined when the last proxy names none (no header, `unknown`, an obfuscated identifier, garbage)
 */
export function clientBehindProxies(
  headerName: string,
  value: string,
  isTrusted: (address: string) => boolean,
): ForwardedClient | undefined {
  const isStandard = headerName.toLowerCase() === 'forwarded';
  let client: ForwardedClient | undefined;
  for (const element of isStandard ? splitFromRight(value) : value.split(',').reverse()) {
    const next = parseAddressPort(isStandard ? (findParameter(element, 'for') ?? '') : element.trim());
    if (!next) return client;
    client = next;
    if (!isTrusted(client.address)) return client;
  }
  return client;
}

/** The `host` of the first element of a `Forwarded` header. */
export function forwardedHost(value: string): string | undefined {
  return findParameter(splitFromRight(value).at(-1) ?? '', 'host');
}

/** The value of a parameter of an element; quoted strings are unquoted (RFC 7239 §4). */
function findParameter(element: string, name: string): string | undefined {
  for (const match of element.matchAll(/(?<![\w!#$%&'*+.^`|~-])([\w!#$%&'*+.^`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;,\s"]*)/g)) {
    if ((match[1] as string).toLowerCase() !== name) continue;
    const text = match[2] as string;
    return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;
  }
  return undefined;
}

/** Splits elements from the last to the first: a quote that a client leaves open hides nothing that a proxy appends. */
function splitFromRight(value: string): string[] {
  const elements: string[] = [];
  let isQuoted = false;
  let end = value.length;
  for (let index = end - 1; index >= 0; index--) {
    const character = value[index];
    if (character === '"' && !isEscaped(value, index)) isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) {
      elements.push(value.slice(index + 1, end));
      end = index;
    }
  }
  return [...elements, value.slice(0, end)];
}

function isEscaped(value: string, index: number): boolean {
  let before = index;
  while (value[before - 1] === '\\') before--;
  return (index - before) % 2 === 1;
}

/** Reads `address`, `address:port` or `[address]:port`; undefined for anything else. */
export function parseAddressPort(node: string): ForwardedClient | undefined {
  const bracketed = /^"?\[([^\]]+)\](?::(\d{1,5}))?"?$/.exec(node);
  if (bracketed) return parseClient(bracketed[1] as string, bracketed[2]);
  if (isIP(node.split('%', 1)[0] as string) !== 0) return parseClient(node, undefined);
  const withPort = /^([\d.]+):(\d{1,5})$/.exec(node);
  return withPort ? parseClient(withPort[1] as string, withPort[2]) : undefined;
}

function parseClient(rawAddress: string, port: string | undefined): ForwardedClient | undefined {
  const address = normaliseAddress(rawAddress);
  const number = Number(port ?? 0);
  return (isIPv4(address) || isIPv6(address)) && number <= 65535 ? { address, port: number } : undefined;
}
