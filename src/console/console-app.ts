import { Hono } from 'hono';
import { ServiceError } from '../lib/errors.ts';
import { answerFault } from './answer.ts';
import type { ConsoleContext, ConsoleEnvironment } from './environment.ts';
import { checkHost } from './login/check-origin.ts';
import { addRoutes } from './routes.ts';

/** The Hono application of a `console` service. It routes by the path as the client sent it. */
export function createConsoleApp(): Hono<ConsoleEnvironment> {
  // Hono hands on what `fetch` was given.
  const getPath = (_: Request, options?: { env?: unknown }) => (options as { env: { path: string } }).env.path;
  const app = new Hono<ConsoleEnvironment>({ getPath });
  app.use(checkHost);
  addRoutes(app);
  app.onError((error, c) => answerFault(c, error));
  app.notFound((c) => {
    const allow = allowedMethods(app, c);
    if (allow === '') return answerFault(c, new ServiceError('not-found', 'There is nothing here.'));
    return answerFault(c, new ServiceError('method-not-allowed', `${c.env.method} is not supported here.`, { details: { allow } }));
  });
  return app;
}

/** The value of `Allow` for the path of a request: the methods that the table of routes has for it; empty for a path that it does not have. */
function allowedMethods(app: Hono<ConsoleEnvironment>, { env: { path } }: ConsoleContext): string {
  const methods = new Set(app.routes.map(({ method }) => method));
  methods.delete('ALL');
  const answered = [...methods].filter((method) => app.router.match(method, path)[0].some(([[, route]]) => route.method === method));
  return answered.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}
