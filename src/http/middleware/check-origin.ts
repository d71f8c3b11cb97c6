import { ServiceError } from '../../lib/errors.ts';
import type { SyncMiddleware } from '../environment.ts';
import { readingMethods } from '../method-names.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { isOwnOrigin } from '../request/own-origin.ts';

/**
 * Refuses state-changing requests that a page of somebody else made a browser send (docs/spec/http.md#cross-site-requests): an
 * `Origin`, else a `Referer`, that is present must be the service's own, or one of `cors_origins`, whose requests no cookie authenticates.
 *
 * @throws ServiceError `bad-request`
 */
export const checkOrigin: SyncMiddleware = ({ env: exchange }) => {
  if (!isChange(exchange)) return;
  const origin = header(exchange, 'origin') ?? header(exchange, 'referer');
  if (origin === undefined) return;
  if (exchange.corsOrigin !== undefined) return;
  if (URL.canParse(origin) && isOwnOrigin(exchange, new URL(origin))) return;
  throw new ServiceError('bad-request', 'The request comes from another origin, which accepted_origins does not list.');
};

// The logout is a link, too, and the one change that a GET makes.
function isChange({ method, target }: Exchange): boolean {
  return !readingMethods.has(method) || (target.kind === 'service' && target.name === 'logout');
}
