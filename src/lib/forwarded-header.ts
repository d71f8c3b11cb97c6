import { isIP, isIPv4, isIPv6 } from 'node:net';

/** The address of a client as a proxy reports it; port 0 when the proxy gives none. */
export interface ForwardedClient {
  address: string;
  port: number;
}

/**
 * Writes an address the way the service shows it: IPv4-mapped IPv6 as IPv4 (decisions.md, `credentials.peer`), without a
 * zone, lower case.
 */
export function normaliseAddress(address: string): string {
  const bare = (address.split('%', 1)[0] as string).toLowerCase();
  const mapped = /^(?:::ffff:|0:0:0:0:0:ffff:)(\d+\.\d+\.\d+\.\d+)$/.exec(bare);
  return mapped?.[1] ?? bare;
}

export function addressFamily(address: string): 'IPv4' | 'IPv6' {
  return isIPv6(address) ? 'IPv6' : 'IPv4';
}

/**
 * The first address of a header that a proxy sets: `Forwarded` (RFC 7239), or a list as in `X-Forwarded-For`.
 *
 * @param headerName name of the configured header
 * @returns undefined when the first element is no address (`unknown`, an obfuscated identifier, garbage)
 */
export function parseForwardedClient(headerName: string, value: string): ForwardedClient | undefined {
  if (headerName.toLowerCase() === 'forwarded') return parseNode(forwardedParameter(value, 'for') ?? '');
  return parseNode((value.split(',', 1)[0] as string).trim());
}

/** The `host` of the first element of a `Forwarded` header. */
export function forwardedHost(value: string): string | undefined {
  return forwardedParameter(value, 'host');
}

/** The value of a parameter of the first element; quoted strings are unquoted (RFC 7239 §4). */
function forwardedParameter(value: string, name: string): string | undefined {
  for (const match of firstElement(value).matchAll(/(?<![\w!#$%&'*+.^`|~-])([\w!#$%&'*+.^`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;,\s"]*)/g)) {
    if ((match[1] as string).toLowerCase() !== name) continue;
    const text = match[2] as string;
    return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;
  }
  return undefined;
}

function firstElement(value: string): string {
  let isQuoted = false;
  for (let index = 0; index < value.length; index++) {
    const character = value[index];
    if (character === '\\' && isQuoted) index++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) return value.slice(0, index);
  }
  return value;
}

function parseNode(node: string): ForwardedClient | undefined {
  const bracketed = /^"?\[([^\]]+)\](?::(\d{1,5}))?"?$/.exec(node);
  if (bracketed) return clientOf(bracketed[1] as string, bracketed[2]);
  if (isIP(node.split('%', 1)[0] as string) !== 0) return clientOf(node, undefined);
  const withPort = /^([\d.]+):(\d{1,5})$/.exec(node);
  return withPort ? clientOf(withPort[1] as string, withPort[2]) : undefined;
}

function clientOf(rawAddress: string, port: string | undefined): ForwardedClient | undefined {
  const address = normaliseAddress(rawAddress);
  const number = Number(port ?? 0);
  return (isIPv4(address) || isIPv6(address)) && number <= 65535 ? { address, port: number } : undefined;
}
