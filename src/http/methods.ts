import type { Hono } from 'hono';
import { routePath } from 'hono/route';
import type { HttpContext, HttpEnvironment, HttpMiddleware } from './environment.ts';
import type { Exchange } from './request/exchange.ts';

/** What a handler says of its route besides answering it. */
interface RouteTraits {
  condition?: (exchange: Exchange) => boolean;
  refusesHead?: boolean;
}

/** A route that only some requests have; the others go on to what ends the pattern. */
export function when(condition: (exchange: Exchange) => boolean, handler: HttpMiddleware): HttpMiddleware & RouteTraits {
  const route: HttpMiddleware = (context, next) => (condition(context.env.exchange) ? handler(context, next) : next());
  return Object.assign(route, { condition });
}

/** A GET that changes something, so that HEAD does not stand for it. */
export function exceptHead(handler: HttpMiddleware): HttpMiddleware & RouteTraits {
  const route: HttpMiddleware = (context, next) => (context.env.exchange.isHead ? next() : handler(context, next));
  return Object.assign(route, { refusesHead: true });
}

/** The value of `Allow` for the URL of a request: the methods that the table of routes has for its pattern. */
export function allowedMethods({ routes }: Hono<HttpEnvironment>, context: HttpContext): string {
  const { exchange } = context.env;
  const methods = new Set<string>();
  const pattern = routePath(context);
  for (const { path, method, handler } of routes) {
    const { condition, refusesHead } = handler as RouteTraits;
    if (path !== pattern || method === 'ALL' || (condition && !condition(exchange))) continue;
    methods.add(method);
    if (method === 'GET' && !refusesHead) methods.add('HEAD');
  }
  return [...methods].join(', ');
}
