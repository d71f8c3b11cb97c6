import type { Context, MiddlewareHandler } from 'hono';
import type { VirtualPath } from '../lib/virtual-path.ts';
import type { Exchange } from './request/exchange.ts';

/** `c.env` of every handler and middleware is the exchange. Path and query of a request stand in its `target` alone. */
export interface HttpEnvironment {
  Bindings: Exchange;
}

export type HttpContext = Context<HttpEnvironment>;
export type HttpHandler = (c: HttpContext) => Response | Promise<Response>;
export type HttpMiddleware = MiddlewareHandler<HttpEnvironment>;

/** Middleware that has nothing to wait for. It throws what it refuses. */
export type SyncMiddleware = (c: HttpContext) => void;

/** Several of them, in order, as one layer of Hono's: one, with its promises, costs a small request less than four. */
export function asOneMiddleware(...layers: readonly SyncMiddleware[]): HttpMiddleware {
  return (c, next) => {
    for (const layer of layers) layer(c);
    return next();
  };
}

/** The virtual path that a request for a file or folder is about. */
export function pathOf({ env: { target } }: HttpContext): VirtualPath {
  if (target.kind !== 'member') throw new Error('The request is about no file or folder.');
  return target.path;
}
