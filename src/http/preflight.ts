import type { HttpContext } from './environment.ts';
import { knownMethods } from './method-names.ts';
import { respond } from './reply/respond.ts';
import { type Exchange, header } from './request/exchange.ts';

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
