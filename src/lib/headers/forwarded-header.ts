import { isIP, isIPv4, isIPv6 } from 'node:net';

/** The address of a client, as a proxy reports it. The port is 0 if the proxy reports none. */
interface ForwardedClient {
  address: string;
  port: number;
}

/**
 * Returns an address in the form that the service shows: in lower case and without a zone. An IPv4-mapped IPv6 address is shown as IPv4
 * (docs/spec/authentication.md#client-address).
 */
export function normaliseAddress(address: string): string {
  const bare = (address.split('%', 1)[0] as string).toLowerCase();
  const mapped = /^(?:::ffff:|0:0:0:0:0:ffff:)(\d+\.\d+\.\d+\.\d+)$/.exec(bare);
  return mapped?.[1] ?? bare;
}

/** Returns the family of an address in the spelling of events. */
export function addressFamily(address: string): 'IPv4' | 'IPv6' {
  return isIPv6(address) ? 'IPv6' : 'IPv4';
}

/**
 * Finds the client behind proxies. Each proxy appends the address of its caller, but the client may have sent the first addresses itself.
 * The client is therefore the rightmost address that is not a trusted proxy, or the first address if all of them are trusted.
 *
 * @param headerName name of the header that the proxies write: `Forwarded` (RFC 7239), or a list such as `X-Forwarded-For`
 * @param isTrusted whether an address belongs to a trusted proxy
 * @returns undefined if the last proxy reports no address (empty, `unknown`, an obfuscated identifier, or invalid)
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

/** Returns the `host` of the first element in a `Forwarded` header. */
export function forwardedHost(value: string): string | undefined {
  return findParameter(splitFromRight(value).at(-1) ?? '', 'host');
}

/** Returns the value of a parameter of an element, without quotes (RFC 7239 §4). */
function findParameter(element: string, name: string): string | undefined {
  for (const match of element.matchAll(/(?<![\w!#$%&'*+.^`|~-])([\w!#$%&'*+.^`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;,\s"]*)/g)) {
    if ((match[1] as string).toLowerCase() !== name) continue;
    const text = match[2] as string;
    return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;
  }
  return undefined;
}

/**
 * Splits a header into elements, from the last to the first, so that an unclosed quote in the client's part cannot hide the elements that
 * proxies append.
 */
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

/** Parses `address`, `address:port` or `[address]:port`. Returns undefined for any other text. */
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
