import { ServiceError } from '../../lib/errors.ts';
import { knownMethods } from '../method-names.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header } from '../request/exchange.ts';

/** Time in seconds for which browsers keep the answer to a preflight. It is short, because a reload can remove an origin. */
const rememberedS = 600;

/** Whether a request is a CORS preflight (Fetch) from an allowed origin. */
export function isPreflight(exchange: Exchange): boolean {
  return exchange.corsOrigin !== undefined && header(exchange, 'access-control-request-method') !== undefined;
}

/**
 * Answers a browser that asks whether a page of an origin in `cors_origins` may send a request. The answer is always yes, because the
 * request itself is checked later.
 */
export function answerPreflight(exchange: Exchange): Promise<Response> {
  const headers = {
    'access-control-allow-methods': [...knownMethods].join(', '),
    'access-control-allow-headers': header(exchange, 'access-control-request-headers'),
    'access-control-max-age': rememberedS,
  };
  return respond(exchange, { status: 204, headers });
}

/** Redirects to the home folder. */
export function redirectHome(exchange: Exchange): Promise<Response> {
  const { method, isHead, target } = exchange;
  return respond(exchange, { status: method === 'GET' || isHead ? 302 : 307, headers: { location: `/home/${target.query}` } });
}

/** Days after which a fetched `security.txt` counts as stale. RFC 9116 §2.5.5 recommends less than a year. */
const securityTextDays = 90;

/** Sends `security.txt` with the contact of the configuration (RFC 9116). @throws ServiceError `not-found` without a contact */
export function sendSecurityText(exchange: Exchange): Promise<Response> {
  const { securityContact, clock } = exchange.service;
  if (securityContact === '') throw new ServiceError('not-found', 'Path not found.');
  const dayMs = 86_400_000;
  const expires = new Date((Math.floor(clock.nowMs() / dayMs) + securityTextDays) * dayMs).toISOString().replace('.000', '');
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'max-age=86400', 'x-content-type-options': 'nosniff' };
  return respond(exchange, { status: 200, headers, body: `Contact: ${securityContact}\nExpires: ${expires}\nPreferred-Languages: en\n` });
}

/** Refuses the target `*` for methods other than OPTIONS. @throws ServiceError `bad-request` */
export function refuseServerTarget(): never {
  throw new ServiceError('bad-request', 'The target "*" is only for OPTIONS.');
}

/** Refuses a target that could not be read. @throws the error with the reason */
export function refuseTarget({ target }: Exchange): never {
  throw target.kind === 'refused' ? target.fault : new ServiceError('bad-request', 'The request target is not understood.');
}

/** Refuses unknown URLs below `/home/__svc__/` (docs/spec/http.md#urls). @throws ServiceError `name-reserved` */
export function refuseReserved(): never {
  throw new ServiceError('name-reserved', 'This name is reserved.');
}
