import { ServiceError } from '../../lib/errors.ts';
import { knownMethods } from '../method-names.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header } from '../request/exchange.ts';

/** Browsers remember the answer for so long, in seconds; a reload may take an origin away. */
const rememberedS = 600;

/** Whether a browser asks whether a page of another origin may send a request (Fetch, CORS-preflight), and it may. */
export function isPreflight(exchange: Exchange): boolean {
  return exchange.corsOrigin !== undefined && header(exchange, 'access-control-request-method') !== undefined;
}

/** Answers a browser that asks whether a page of an origin of `cors_origins` may send a request: it may, as far as this goes. */
export function answerPreflight(exchange: Exchange): Promise<Response> {
  const headers = {
    'access-control-allow-methods': [...knownMethods].join(', '),
    'access-control-allow-headers': header(exchange, 'access-control-request-headers'),
    'access-control-max-age': rememberedS,
  };
  return respond(exchange, { status: 204, headers });
}

/** The redirect to the home folder. */
export function redirectHome(exchange: Exchange): Promise<Response> {
  const { method, isHead, target } = exchange;
  return respond(exchange, { status: method === 'GET' || isHead ? 302 : 307, headers: { location: `/home/${target.query}` } });
}

/** The target `*` of other methods. @throws ServiceError `bad-request` */
export function refuseServerTarget(): never {
  throw new ServiceError('bad-request', 'The target "*" is for OPTIONS alone.');
}

/** A target that could not be read. @throws the reason */
export function refuseTarget({ target }: Exchange): never {
  throw target.kind === 'refused' ? target.fault : new ServiceError('bad-request', 'The request target is not understood.');
}

/** URLs below `/home/__svc__/` that there are none of (docs/spec/http.md#urls). @throws ServiceError `name-reserved` */
export function refuseReserved(): never {
  throw new ServiceError('name-reserved', 'This name is reserved.');
}
