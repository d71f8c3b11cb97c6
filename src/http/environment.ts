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

/** Middleware that needs not wait for anything. It throws what it refuses. */
export type RequestCheck = (c: HttpContext) => void;

/** One middleware of several checks, in turn: one layer of Hono, with its promises, costs a small request less than four. */
export function inTurn(...checks: readonly RequestCheck[]): HttpMiddleware {
  return (c, next) => {
    for (const check of checks) check(c);
    return next();
  };
}

/** The virtual path that a request for a file or folder is about. */
export function pathOf({ env: { target } }: HttpContext): VirtualPath {
  if (target.kind !== 'member') throw new Error('The request is about no file or folder.');
  return target.path;
}
