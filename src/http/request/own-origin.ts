import { forwardedHost, normaliseAddress } from '../../lib/headers/forwarded-header.ts';
import { type ForwardedTrust, isForwarded } from '../connection/client-peer.ts';
import type { HttpServiceOptions } from '../options.ts';
import { header } from './exchange.ts';
import type { Incoming } from './incoming.ts';

interface ServiceRequest {
  readonly host: string | undefined;
  readonly incoming: Incoming;
  readonly service: { readonly options: { readonly accepted_origins: readonly string[] }; readonly proxies: ForwardedTrust };
}

/** Returns the requested hosts (`name` or `name:port`): the host of the request and, behind a trusted proxy, also the forwarded host. */
function requestedHosts(exchange: ServiceRequest): string[] {
  const hosts: (string | undefined)[] = [exchange.host];
  if (isForwarded(exchange.incoming, exchange.service.proxies)) {
    hosts.push(header(exchange, 'x-forwarded-host')?.split(',', 1)[0]?.trim(), forwardedHost(header(exchange, 'forwarded') ?? ''));
  }
  return hosts.filter((host) => host !== undefined && host !== '') as string[];
}

/**
 * Returns whether an origin belongs to this service (docs/spec/http.md#cross-site-requests): it is in `accepted_origins`, or has the host
 * and port of the request. Both http and https are accepted, because a proxy can end TLS. But http is refused if `accepted_origins` has the
 * host with https.
 */
export function isOwnOrigin(exchange: ServiceRequest, { protocol, host, origin }: URL): boolean {
  const { accepted_origins: accepted } = exchange.service.options;
  if (accepted.includes(origin)) return true;
  if (protocol !== 'https:' && (protocol !== 'http:' || accepted.includes(`https://${host}`))) return false;
  return requestedHosts(exchange).some((own) => URL.canParse(`${protocol}//${own}`) && new URL(`${protocol}//${own}`).host === host);
}

/**
 * Returns whether the authority of a URL is this service's own, or is in `accepted_origins`. A proxy can end TLS, so default ports of both
 * schemes are ignored.
 */
export function isOwnAuthority(exchange: ServiceRequest, authority: string): boolean {
  const bare = (host: string) => host.toLowerCase().replace(/:(80|443)?$/, '');
  const accepted = exchange.service.options.accepted_origins.map((origin) => new URL(origin).host);
  return [...requestedHosts(exchange), ...accepted].some((host) => bare(host) === bare(authority));
}

/** Returns the origin for URLs that are sent to other people. */
export function publicOrigin({ incoming, service: { options } }: { incoming: Incoming; service: { options: HttpServiceOptions } }): string {
  const [accepted] = options.accepted_origins;
  if (options.public_url !== '') return options.public_url;
  if (accepted !== undefined) return accepted;
  const { localAddress = 'localhost', localPort = options.port } = incoming.socket;
  const address = normaliseAddress(localAddress);
  return new URL(`${options.type}://${address.includes(':') ? `[${address}]` : address}:${localPort}`).origin;
}
