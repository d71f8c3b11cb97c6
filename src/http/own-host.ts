import { forwardedHost } from '../lib/forwarded-header.ts';
import { isForwarded } from './client-peer.ts';
import { type Exchange, header } from './exchange.ts';

/**
 * The hosts (`name` or `name:port`, lower case, default ports left out) under which the client may know this service:
 * what it asked for, and the hosts of `accepted_origins`; behind a configured proxy also the forwarded host.
 */
export function ownHosts(exchange: Exchange): Set<string> {
  const { options } = exchange.service;
  const hosts = new Set<string>();
  const add = (host: string | undefined) => {
    if (host) hosts.add(withoutDefaultPort(host.toLowerCase(), options.type));
  };
  add(requestHost(exchange));
  for (const origin of options.accepted_origins) if (URL.canParse(origin)) add(new URL(origin).host);
  if (isForwarded(exchange.incoming, exchange.service.proxies)) {
    add(header(exchange, 'x-forwarded-host')?.split(',', 1)[0]?.trim());
    add(forwardedHost(header(exchange, 'forwarded') ?? ''));
  }
  return hosts;
}

/**
 * Whether the authority of an http or https URL is this service. A proxy may end TLS, so that the client's scheme is not
 * the service's: the default port of either scheme counts for nothing.
 */
export function isOwnAuthority(exchange: Exchange, authority: string): boolean {
  const bare = (host: string) => host.toLowerCase().replace(/:(80|443)?$/, '');
  return [...ownHosts(exchange)].some((host) => bare(host) === bare(authority));
}

/** The host that the client asked for: `:authority` in HTTP/2, else `Host`. */
export function requestHost(exchange: Exchange): string | undefined {
  return header(exchange, ':authority') ?? header(exchange, 'host');
}

function withoutDefaultPort(host: string, type: 'http' | 'https'): string {
  return host.replace(type === 'https' ? /:443$/ : /:80$/, '');
}
