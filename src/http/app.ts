import { Hono } from 'hono';
import { ServiceError } from '../lib/errors.ts';
import { type Bindings, type HttpEnvironment, inTurn } from './environment.ts';
import { checkHead } from './middleware/check-head.ts';
import { checkOrigin } from './middleware/check-origin.ts';
import { nameRequest } from './middleware/name-request.ts';
import { observeRequest } from './middleware/observe-request.ts';
import { respondToFault } from './reply/respond.ts';
import { routePathOf } from './request/request-target.ts';
import { addRoutes } from './routes.ts';

/**
 * The Hono application that answers every URL of a service. It routes by the target that `parseRequestTarget` read once; what Hono itself
 * would make of the URL (`c.req.path`, `param`, `query`) is decoded once more, and nothing uses it.
 */
export function createApp(): Hono<HttpEnvironment> {
  // Hono hands on what `fetch` was given.
  const getPath = (_: Request, options?: { env?: unknown }) => routePathOf((options as { env: Bindings }).env.exchange.target);
  const app = new Hono<HttpEnvironment>({ getPath });
  app.use(inTurn(nameRequest, observeRequest, checkHead, checkOrigin));
  addRoutes(app);
  app.onError((error, context) => respondToFault(context.env.exchange, error));
  app.notFound((context) => respondToFault(context.env.exchange, new ServiceError('not-found', 'Path not found.')));
  return app;
}
