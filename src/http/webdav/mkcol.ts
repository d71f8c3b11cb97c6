import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { respond } from '../reply/respond.ts';
import { clientOf } from '../request/exchange.ts';
import { preconditions } from '../request/preconditions.ts';
import { hasBody } from '../request/request-body.ts';

/**
 * MKCOL (RFC 4918 §9.3; docs/spec/webdav.md#mkcol): 201; 405 when something is there, 409 when the parent is missing, 415 with a
 * body.
 */
export async function makeCollection(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  if (hasBody(exchange)) throw new ServiceError('media-type-unsupported', 'MKCOL takes no body.');
  const { files } = clientOf(exchange);
  if (exchange.incoming.headers.if !== undefined) (await preconditions(exchange, path))(files.look(path, 'createFolder'));
  try {
    await files.createFolder(path);
  } catch (error) {
    if (!isServiceError(error, 'exists')) throw error;
    throw new ServiceError('method-not-allowed', 'Something of this name exists.', { cause: error });
  }
  return respond(c, { status: 201 });
}
