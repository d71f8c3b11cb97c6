import { ServiceError } from '../../lib/errors.ts';
import type { HttpContext } from '../environment.ts';
import { respond } from '../reply/respond.ts';
import { optionsReply } from '../webdav/webdav-class.ts';

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
