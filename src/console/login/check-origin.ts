import { isIP } from 'node:net';
import { header } from '../../http/request/exchange.ts';
import { isOwnOrigin } from '../../http/request/own-origin.ts';
import { ServiceError } from '../../lib/errors.ts';
import { cookieValue } from '../../lib/headers/header-fields.ts';
import type { ConsoleExchange, ConsoleMiddleware } from '../environment.ts';

export const sessionCookie = 'svc_console';

/** Returns whether a request only reads: its method is GET or HEAD (safe methods, RFC 9110 §9.2.1). */
export function isReading({ method }: ConsoleExchange): boolean {
  return method === 'GET' || method === 'HEAD';
}

/**
 * Refuses requests for a host name that is not the console's. Otherwise another site could let its own name resolve to the console's
 * address, and its page could read the replies (DNS rebinding). IP addresses are accepted as host names, because nobody can let them
 * resolve to another address.
 *
 * @throws ServiceError `forbidden`
 */
export const checkHost: ConsoleMiddleware = async ({ env: { host, service } }, next) => {
  const { address, accepted_origins: accepted } = service.options;
  const name = host === undefined ? '' : URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : 'none';
  const own = ['', 'localhost', address.toLowerCase(), ...accepted.map((origin) => new URL(origin).hostname)];
  if (own.includes(name) || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return next();
  throw new ServiceError('forbidden', 'The console is not configured for this host name; add the URL with this name to accepted_origins.');
};

/**
 * Refuses changes if a page of another site caused the browser to send them. Browsers add the session cookie by themselves. So a change
 * with this cookie is accepted only if the browser states that the page belongs to the console.
 *
 * @throws ServiceError `forbidden`
 */
export const checkOrigin: ConsoleMiddleware = async ({ env: exchange }, next) => {
  if (isReading(exchange) || isOfOwnPage(exchange)) return next();
  throw new ServiceError('forbidden', 'The request does not come from a page of this console.');
};

function isOfOwnPage(exchange: ConsoleExchange): boolean {
  const site = header(exchange, 'sec-fetch-site');
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  const origin = header(exchange, 'origin') ?? header(exchange, 'referer');
  if (origin !== undefined) return URL.canParse(origin) && isOwnOrigin(exchange, new URL(origin));
  return site === 'same-origin' || cookieValue(header(exchange, 'cookie'), sessionCookie) === undefined;
}
