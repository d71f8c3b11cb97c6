import { ServiceError } from '../lib/errors.ts';
import { type Exchange, header } from './exchange.ts';
import { ownHosts } from './own-host.ts';

const readingMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'PROPFIND']);

/**
 * Refuses state-changing requests that a page of somebody else made a browser send (decisions.md 4, "CSRF"): an
 * `Origin`, else a `Referer`, that is present must be the service's own host or in `accepted_origins`.
 *
 * @throws ServiceError `bad-request`
 */
export function checkOrigin(exchange: Exchange): void {
  if (readingMethods.has(exchange.method)) return;
  const origin = header(exchange, 'origin') ?? header(exchange, 'referer');
  if (origin === undefined) return;
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) {
    if (exchange.service.options.accepted_origins.some((accepted) => url.origin === accepted)) return;
    if (ownHosts(exchange).has(url.host.toLowerCase())) return;
  }
  throw new ServiceError('bad-request', 'The request comes from another origin, which accepted_origins does not list.');
}
