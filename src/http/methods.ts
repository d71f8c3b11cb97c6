import type { Hono } from 'hono';
import { routePath } from 'hono/route';
import type { RouterRoute } from 'hono/types';
import { ServiceError } from '../lib/errors.ts';
import type { HttpContext, HttpEnvironment, HttpHandler, HttpMiddleware } from './environment.ts';
import type { Exchange } from './request/exchange.ts';

/** What a handler says of its route besides answering it. */
interface RouteTraits {
  condition?: (exchange: Exchange) => boolean;
  refusesHead?: boolean;
}

/** A route that only some requests have; the others go on to what ends the pattern. */
export function when(condition: (exchange: Exchange) => boolean, handler: HttpHandler): HttpMiddleware & RouteTraits {
  const route: HttpMiddleware = async (c, next) => (condition(c.env) ? handler(c) : next());
  return Object.assign(route, { condition });
}

/** A GET that changes something, so that HEAD does not stand for it. */
export function exceptHead(handler: HttpHandler): HttpMiddleware & RouteTraits {
  const route: HttpMiddleware = async (c, next) => (c.env.isHead ? next() : handler(c));
  return Object.assign(route, { refusesHead: true });
}

/** Ends a pattern. @throws ServiceError `method-not-allowed`, to which `onError` adds `allowedMethods` */
export function refuse({ env: { method } }: HttpContext): never {
  throw new ServiceError('method-not-allowed', `${method} is not supported here.`);
}

/** The value of `Allow` for the URL of a request: the methods that the table of routes has for its pattern. */
export function allowedMethods({ routes }: Hono<HttpEnvironment>, c: HttpContext): string {
  const pattern = routePath(c);
  return methodsOf(
    routes.filter(({ path }) => path === pattern),
    c.env,
  );
}

/** The same for `OPTIONS *`: the methods that any URL of the service has. */
export function allMethods({ routes }: Hono<HttpEnvironment>, c: HttpContext): string {
  return methodsOf(routes, c.env);
}

function methodsOf(routes: readonly RouterRoute[], exchange: Exchange): string {
  const methods = new Set<string>();
  for (const { method, handler } of routes) {
    const { condition, refusesHead } = handler as RouteTraits;
    if (method === 'ALL' || (condition && !condition(exchange))) continue;
    methods.add(method);
    if (method === 'GET' && !refusesHead) methods.add('HEAD');
  }
  return [...methods].join(', ');
}
