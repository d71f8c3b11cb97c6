import { Hono } from 'hono';
import { heldActions } from '../control/collection.ts';
import { ServiceError } from '../lib/errors.ts';
import { namesType } from '../lib/headers/accept-header.ts';
import { answerFault, answerJson } from './answer.ts';
import { explainDecision, listAccounts, listGrants, revokeGrants, showAccount } from './api/accounts.ts';
import { testLogin } from './api/auth-test.ts';
import { actOnHeld, collectionNames, findHeldTargets, listItems, removeItems, restoreItems, sendHeldContent } from './api/collections.ts';
import { reloadConfiguration, showChanges, showConfiguration, showFindings } from './api/configuration.ts';
import { cancelReplay, listDeliveries, listReplays, showDelivery, showReplay, showReplayResults, startReplay } from './api/deliveries.ts';
import { countEvents, followEvents, listEventKinds, listEvents, showEvent } from './api/events.ts';
import { excuseOccurrence, expectOccurrenceAgain, listDue, listExpectations, listOccurrences } from './api/expectations.ts';
import { controlHandler, liftSuspension, listHandlers, showLive, showOverview, showSamples, testHandler } from './api/overview.ts';
import type { ConsoleContext, ConsoleEnvironment } from './environment.ts';
import { checkHost, checkOrigin } from './login/check-origin.ts';
import { authenticate, login, loginByLink, logout, showMe } from './login/login.ts';
import { sendAsset, showShell } from './pages/pages.ts';

/** Creates the Hono application of a `console` service. A route must match the path exactly as the client sent it. */
export function createConsoleApp(): Hono<ConsoleEnvironment> {
  // Hono passes the second argument of `fetch` to this function.
  const getPath = (_: Request, options?: { env?: unknown }) => (options as { env: { path: string } }).env.path;
  const app = new Hono<ConsoleEnvironment>({ getPath });
  app.use(checkHost);
  addRoutes(app);
  app.onError((error, c) => answerFault(c, error));
  app.notFound((c) => {
    const allow = allowedMethods(app, c);
    const isForPeople = ['GET', 'HEAD'].includes(c.env.method) && namesType(c.env.incoming.headers.accept, 'text/html');
    if (allow === '' && isForPeople && !/^\/(api|assets)\//.test(c.env.path)) return showShell(c, 404);
    if (allow === '') return answerFault(c, new ServiceError('not-found', 'There is nothing here.'));
    return answerFault(c, new ServiceError('method-not-allowed', `${c.env.method} is not supported here.`, { details: { allow } }));
  });
  return app;
}

/** Adds all routes of a console. A route for GET also answers HEAD. */
function addRoutes(app: Hono<ConsoleEnvironment>): void {
  app.use('*', checkOrigin);

  // Routes that need no login.
  app.get('/', (c) => showShell(c));
  app.get('/assets/*', sendAsset);
  app.get('/api/openapi.json', showOpenapi);
  app.post('/api/login', login);
  app.post('/api/login/link', loginByLink);
  app.post('/api/logout', logout);

  // All routes from here on need an administrator. Changes need the role operator. For decisions about held uploads, the role reviewer
  // suffices.
  app.use('/api/*', authenticate);
  app.get('/api/me', showMe);
  app.get('/api/events', listEvents);
  app.get('/api/events/live', followEvents);
  app.get('/api/events/histogram', countEvents);
  app.get('/api/events/catalogue', listEventKinds);
  app.get('/api/events/:uuid', showEvent);
  app.get('/api/overview', showOverview);
  app.get('/api/samples', showSamples);
  app.get('/api/live', showLive);

  app.get('/api/deliveries', listDeliveries);
  app.get('/api/deliveries/:id', showDelivery);

  app.get('/api/replays', listReplays);
  app.post('/api/replays', startReplay);
  app.get('/api/replays/:id', showReplay);
  app.delete('/api/replays/:id', cancelReplay);
  app.get('/api/replays/:id/results', showReplayResults);

  app.get('/api/handlers', listHandlers);
  for (const action of ['start', 'pause', 'resume'] as const) app.post(`/api/handlers/:uuid/${action}`, controlHandler(action));
  app.post('/api/handlers/:uuid/test', testHandler);
  app.post('/api/handlers/:uuid/lift-suspension', liftSuspension);
  app.get('/api/accounts', listAccounts);
  app.get('/api/accounts/:name', showAccount);
  for (const name of collectionNames) {
    app.get(`/api/${name}`, listItems(name));
    app.delete(`/api/${name}`, removeItems(name));
  }
  app.post('/api/trash/restore', restoreItems);
  app.get('/api/held', listItems('held'));
  app.get('/api/held/:id/content', sendHeldContent);
  app.post('/api/held/targets', findHeldTargets);
  for (const action of heldActions) app.post(`/api/held/${action}`, actOnHeld(action));
  for (const kind of ['token', 'link'] as const) {
    app.get(`/api/${kind}s`, listGrants(kind));
    app.post(`/api/${kind}s/revoke`, revokeGrants(kind));
  }
  app.get('/api/expectations', listExpectations);
  app.get('/api/expectations/:uuid/occurrences', listOccurrences);
  app.post('/api/expectations/:uuid/excuse', excuseOccurrence);
  app.post('/api/expectations/:uuid/expect-again', expectOccurrenceAgain);
  app.get('/api/occurrences', listDue);
  app.post('/api/explain', explainDecision);
  app.post('/api/auth-test', testLogin);
  app.get('/api/configuration', showConfiguration);
  app.get('/api/configuration/findings', showFindings);
  app.get('/api/configuration/changes', showChanges);
  app.post('/api/configuration/reload', reloadConfiguration);
}

let document: Record<string, unknown> | undefined;

/** Answers `GET /api/openapi.json`. The schemas are loaded at the first request. */
async function showOpenapi(c: ConsoleContext): Promise<Response> {
  const { openapiDocument } = await import('./api/openapi/document.ts');
  document ??= openapiDocument();
  return answerJson(c, document);
}

/** Returns the value of `Allow` for the path of a request; empty for a path without a route. */
function allowedMethods(app: Hono<ConsoleEnvironment>, { env: { path } }: ConsoleContext): string {
  const methods = new Set(app.routes.map(({ method }) => method));
  methods.delete('ALL');
  const answered = [...methods].filter((method) => app.router.match(method, path)[0].some(([[, route]]) => route.method === method));
  return answered.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}
