import type { Hono } from 'hono';
import { answerJson } from './answer.ts';
import { testLogin } from './api/auth-test.ts';
import { collectionNames, listItems, removeItems } from './api/collections.ts';
import { reloadConfiguration, showChanges, showConfiguration, showFindings } from './api/configuration.ts';
import { listDeliveries, showDelivery } from './api/deliveries.ts';
import { followEvents } from './api/event-tail.ts';
import { listEvents, showEvent } from './api/events.ts';
import { explainDecision } from './api/explain.ts';
import { liftSuspension, listHandlers, pauseHandler, resumeHandler, startHandler, testHandler } from './api/handlers.ts';
import { showLive, showOverview, showSamples } from './api/overview.ts';
import { cancelReplay, listReplays, showReplay, showReplayResults, startReplay } from './api/replays.ts';
import type { ConsoleContext, ConsoleEnvironment } from './environment.ts';
import { authenticate } from './login/authenticate.ts';
import { checkOrigin } from './login/check-origin.ts';
import { login, loginByLink, logout, showMe } from './login/login.ts';
import { sendAsset, showShell } from './pages/pages.ts';

/** All that a console answers. GET stands for HEAD, too. */
export function addRoutes(app: Hono<ConsoleEnvironment>): void {
  app.use('*', checkOrigin);

  // For everybody.
  app.get('/', showShell);
  app.get('/assets/*', sendAsset);
  app.get('/api/openapi.json', showOpenapi);
  app.post('/api/login', login);
  app.post('/api/login/link', loginByLink);
  app.post('/api/logout', logout);

  // For administrators; whatever is no reading, for operators.
  app.use('/api/*', authenticate);
  app.get('/api/me', showMe);
  app.get('/api/events', listEvents);
  app.get('/api/events/live', followEvents);
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
  app.post('/api/handlers/:uuid/start', startHandler);
  app.post('/api/handlers/:uuid/pause', pauseHandler);
  app.post('/api/handlers/:uuid/resume', resumeHandler);
  app.post('/api/handlers/:uuid/test', testHandler);
  app.post('/api/handlers/:uuid/lift-suspension', liftSuspension);
  for (const name of collectionNames) {
    app.get(`/api/${name}`, listItems(name));
    app.delete(`/api/${name}`, removeItems(name));
  }
  app.post('/api/explain', explainDecision);
  app.post('/api/auth-test', testLogin);
  app.get('/api/configuration', showConfiguration);
  app.get('/api/configuration/findings', showFindings);
  app.get('/api/configuration/changes', showChanges);
  app.post('/api/configuration/reload', reloadConfiguration);
}

/** `GET /api/openapi.json`. Schemas that only it needs are made when somebody asks for it. */
async function showOpenapi(c: ConsoleContext): Promise<Response> {
  const { openapiDocument } = await import('./api/openapi/document.ts');
  document ??= openapiDocument();
  return answerJson(c, document);
}

let document: Record<string, unknown> | undefined;
