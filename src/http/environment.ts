import type { Context, MiddlewareHandler } from 'hono';
import type { VirtualPath } from '../lib/virtual-path.ts';
import type { Outgoing } from './reply/outgoing.ts';
import type { Exchange, Incoming } from './request/exchange.ts';

/** What every handler and middleware finds in `context.env`. Path and query of a request stand in `exchange.target` alone. */
export interface Bindings {
  incoming: Incoming;
  outgoing: Outgoing;
  exchange: Exchange;
}

export interface HttpEnvironment {
  Bindings: Bindings;
}

export type HttpContext = Context<HttpEnvironment>;
export type HttpMiddleware = MiddlewareHandler<HttpEnvironment>;

/** Middleware that needs not wait for anything. It throws what it refuses. */
export type RequestCheck = (context: HttpContext) => void;

/** One middleware of several checks, in turn: one layer of Hono, with its promises, costs a small request less than four. */
export function inTurn(...checks: readonly RequestCheck[]): HttpMiddleware {
  return (context, next) => {
    for (const check of checks) check(context);
    return next();
  };
}

/** The virtual path that a request for a file or folder is about. */
export function pathOf({ env: { exchange } }: HttpContext): VirtualPath {
  const { target } = exchange;
  if (target.kind !== 'member') throw new Error('The request is about no file or folder.');
  return target.path;
}
