import { ServiceError } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import type { ReplaySelection } from '../../webhooks/replay/selected-events.ts';
import { answerJson, answerNothing, headersOf } from '../answer.ts';
import { administratorOf, type ConsoleContext, recordAction } from '../environment.ts';
import { readJsonObject } from '../request-body.ts';
import { selectionNames, selectionOf } from './event-filter.ts';
import { Parameters, pathPart } from './parameters.ts';

/** Most IDs and UUIDs of one request. */
const maxNamed = 10_000;

/** `POST /api/replays`: sends again, to the handlers of the configuration at their own URLs. */
export async function startReplay(c: ConsoleContext): Promise<Response> {
  const { deliveries } = c.env.service.sources;
  const body = await readJsonObject(c);
  const parameters = new Parameters(body, ['deliveries', 'events', 'filter', 'failed', 'force', 'handlers', 'dry_run']);
  const ids = parameters.texts('deliveries', maxNamed) ?? [];
  const uuids = parameters.texts('events', maxNamed) ?? [];
  const isFailed = parameters.flag('failed');
  const filter = filterOf(body.filter);
  const ways = [ids.length > 0, uuids.length > 0 || filter !== undefined || isFailed].filter(Boolean);
  if (ways.length !== 1)
    throw new ServiceError('bad-request', 'Say what is to be sent: either "deliveries", or "events", "filter" or "failed".');
  const request = {
    deliveries: ids,
    selection: { id: [], ...filter, uuid: uuids, failed: isFailed, force: parameters.flag('force') },
    handlers: parameters.texts('handlers', 1000) ?? [],
    isDryRun: parameters.flag('dry_run'),
  };
  const id = await deliveries.replays.start(request, administratorOf(c).name);
  if (!request.isDryRun) await recordAction(c, 'replay', id);
  return answerJson(c, { id }, { status: 202, headers: { location: `/api/replays/${id}` } });
}

/** `GET /api/replays`: those of all nodes, the newest first. */
export async function listReplays(c: ConsoleContext): Promise<Response> {
  return answerJson(c, await c.env.service.sources.deliveries.replays.list());
}

/** `GET /api/replays/{id}`: how far one is. */
export async function showReplay(c: ConsoleContext): Promise<Response> {
  return answerJson(c, await c.env.service.sources.deliveries.replays.find(pathPart(c, 'id')));
}

/** `GET /api/replays/{id}/results`: a line for each request so far. */
export async function showReplayResults(c: ConsoleContext): Promise<Response> {
  const body = await c.env.service.sources.deliveries.replays.results(pathPart(c, 'id'));
  const length = String(Buffer.byteLength(body));
  return new Response(body, { headers: { ...headersOf(c), 'content-type': 'application/x-ndjson', 'content-length': length } });
}

/** `DELETE /api/replays/{id}`: cancels one that has not ended. */
export async function cancelReplay(c: ConsoleContext): Promise<Response> {
  const id = pathPart(c, 'id');
  await c.env.service.sources.deliveries.replays.cancel(id);
  await recordAction(c, 'replay-cancel', id);
  return answerNothing(c);
}

function filterOf(value: unknown): ReplaySelection | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value)) throw new ServiceError('bad-request', '"filter" must be an object.');
  return selectionOf(new Parameters(value, selectionNames));
}
