import { ServiceError } from '../../lib/errors.ts';
import type { HttpContext } from '../environment.ts';
import { knownMethods } from '../method-names.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { optionsReply } from '../webdav/webdav-class.ts';

/** Browsers remember the answer for so long, in seconds; a reload may take an origin away. */
const rememberedS = 600;

/** Whether a browser asks whether a page of another origin may send a request (Fetch, CORS-preflight), and it may. */
export function isPreflight(exchange: Exchange): boolean {
  const { method, corsOrigin } = exchange;
  return method === 'OPTIONS' && corsOrigin !== undefined && header(exchange, 'access-control-request-method') !== undefined;
}

/** Answers a browser that asks whether a page of an origin of `cors_origins` may send a request: it may, as far as this goes. */
export function answerPreflight(c: HttpContext): Promise<Response> {
  const headers = {
    'access-control-allow-methods': [...knownMethods].join(', '),
    'access-control-allow-headers': header(c.env, 'access-control-request-headers'),
    'access-control-max-age': rememberedS,
  };
  return respond(c, { status: 204, headers });
}

/** OPTIONS of `/` and `/home`: Explorer and davfs2 ask what the server can do before they look at the path that they were given. */
export function describeRoot(c: HttpContext): Promise<Response> {
  return respond(c, optionsReply(c.env, 'OPTIONS, GET, HEAD, PROPFIND'));
}

/** The redirect to the home folder. */
export function redirectHome(c: HttpContext): Promise<Response> {
  const { method, isHead, target } = c.env;
  return respond(c, { status: method === 'GET' || isHead ? 302 : 307, headers: { location: `/home/${target.query}` } });
}

/** The target `*` of other methods. @throws ServiceError `bad-request` */
export function refuseServerTarget(): never {
  throw new ServiceError('bad-request', 'The target "*" is for OPTIONS alone.');
}

/** A target that could not be read. @throws the reason */
export function refuseTarget({ env: { target } }: HttpContext): never {
  throw target.kind === 'refused' ? target.fault : new ServiceError('bad-request', 'The request target is not understood.');
}

/** URLs below `/home/__svc__/` that there are none of (docs/spec/http.md#urls). @throws ServiceError `name-reserved` */
export function refuseReserved(): never {
  throw new ServiceError('name-reserved', 'This name is reserved.');
}
