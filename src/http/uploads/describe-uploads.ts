import type { HttpContext, HttpHandler, HttpMiddleware } from '../environment.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { speaksTus, tusDescription } from './tus-fields.ts';
import { limitField } from './upload-fields.ts';

/** The reply to OPTIONS of what an upload can be begun at, with the limits that hold for everybody. */
export function withUploadLimit({ service }: Exchange, reply: Reply): Reply {
  const limit = limitField({ maxAppendSize: service.options.maximum_request_size || undefined });
  return { ...reply, headers: { ...reply.headers, 'upload-limit': limit } };
}

/** OPTIONS of the collection of uploads, and of an upload. @param allow the methods of the URL */
export function describeUploads(allow: (c: HttpContext) => string): HttpHandler {
  return (c) => respond(c, withUploadLimit(c.env, { status: 204, headers: { allow: allow(c), ...tusDescription } }));
}

/** Has a POST stand for another method, for clients that can send no other (tus 1.0.0, X-HTTP-Method-Override). */
export function overridden(handlers: Readonly<Record<string, HttpHandler>>): HttpMiddleware {
  return async (c, next) => {
    const handler = speaksTus(c.env) ? handlers[header(c.env, 'x-http-method-override')?.trim().toUpperCase() ?? ''] : undefined;
    return handler ? handler(c) : next();
  };
}
