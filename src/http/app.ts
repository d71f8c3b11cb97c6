import { Hono } from 'hono';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { asOneMiddleware, type HttpEnvironment } from './environment.ts';
import { respondToFault } from './fault-reply.ts';
import { allowedMethods } from './methods.ts';
import { checkHead, checkOrigin } from './middleware/check-origin.ts';
import { nameRequest, observeRequest } from './middleware/observe-request.ts';
import type { Exchange } from './request/exchange.ts';
import { routePathOf } from './request/request-target.ts';
import { addRoutes } from './routes.ts';

/**
 * The Hono application that answers every URL of a service. It routes by the target that `parseRequestTarget` read once; what Hono itself
 * would make of the URL (`c.req.path`, `param`, `query`) is decoded once more, and nothing uses it. Which of Hono's own middleware is used and
 * which is not, and why: docs/design/decisions.md#http-connections-and-requests-http-httpconnection-httpmiddleware-httprequest-httpreply.
 */
export function createApp(): Hono<HttpEnvironment> {
  // Hono hands on what `fetch` was given.
  const getPath = (_: Request, options?: { env?: unknown }) => routePathOf((options as { env: Exchange }).env.target);
  const app = new Hono<HttpEnvironment>({ getPath });
  app.use(asOneMiddleware(nameRequest, observeRequest, checkHead, checkOrigin));
  addRoutes(app);
  app.onError((error, c) => {
    // RFC 9110 §15.5.6: what is not allowed is answered with what is.
    if (isServiceError(error, 'method-not-allowed')) error.details.allow = allowedMethods(app, c);
    return respondToFault(c, error);
  });
  app.notFound((c) => respondToFault(c, new ServiceError('not-found', 'Path not found.')));
  return app;
}
