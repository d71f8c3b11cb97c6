import { ServiceError } from '../../lib/errors.ts';
import { redactedUrl } from '../../lib/remote/redacted-url.ts';
import { answerEvents, answerJson, answerNothing } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { sampleIntervalS } from '../live-feed.ts';
import { readJsonObject } from '../request-body.ts';
import { Parameters, pathPart } from './parameters.ts';

/** Answers `GET /api/overview` with the state of all nodes. */
export async function showOverview(c: ConsoleContext): Promise<Response> {
  return answerJson(c, await c.env.service.sources.overview());
}

/** Answers `GET /api/samples` with the samples of the last hour. */
export function showSamples(c: ConsoleContext): Response {
  return answerJson(c, { interval_seconds: sampleIntervalS, samples: c.env.service.samples.kept });
}

/** Answers `GET /api/live` with the overview each time it changes, and with each sample. */
export function showLive(c: ConsoleContext): Response {
  return answerEvents(c, (stream) => c.env.service.live.add(stream));
}

/** Answers `GET /api/handlers` with the event handlers. */
export async function listHandlers(c: ConsoleContext): Promise<Response> {
  return answerJson(c, await c.env.service.sources.deliveries.handlers());
}

/** Answers `POST /api/handlers/{uuid}/start`, `…/pause` and `…/resume`. */
export function controlHandler(action: 'start' | 'pause' | 'resume'): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const uuid = pathPart(c, 'uuid');
    await c.env.service.sources.deliveries.control()[action](uuid, requireAdministrator(c).name);
    await recordAction(c, `handler-${action}`, uuid);
    return answerNothing(c);
  };
}

/** Answers `POST /api/handlers/{uuid}/test`: sends event `testEventSent` to the handler, and replies with the outcome. */
export async function testHandler(c: ConsoleContext): Promise<Response> {
  const uuid = pathPart(c, 'uuid');
  await recordAction(c, 'handler-test', uuid);
  const { outcome, details, fault, attempts, events } = await c.env.service.sources.deliveries.sendTest(uuid, requireAdministrator(c).name);
  return answerJson(c, { outcome, details: details ?? '', ...(fault && { fault }), attempts, event_uuid: events[0]?.uuid ?? '' });
}

/**
 * Answers `POST /api/handlers/{uuid}/lift-suspension`: the handler uses a suspended URL again, without waiting until the suspension ends.
 */
export async function liftSuspension(c: ConsoleContext): Promise<Response> {
  const uuid = pathPart(c, 'uuid');
  const url = new Parameters(await readJsonObject(c), ['url']).text('url');
  const control = c.env.service.sources.deliveries.control();
  // Clients know URLs only without their secrets, so the URL in a request can stand for several suspended URLs.
  const meant = (await control.suspendedUrls(uuid)).filter((suspended) => redactedUrl(suspended.url) === url);
  if (meant.length === 0) throw new ServiceError('not-found', 'This event handler has no suspended URL like this.');
  for (const suspended of meant) await control.liftSuspension(uuid, suspended.url);
  await recordAction(c, 'handler-lift-suspension', `${uuid} ${url}`);
  return answerNothing(c);
}
