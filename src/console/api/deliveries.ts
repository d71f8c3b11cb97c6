import { ServiceError } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import { recordKinds } from '../../webhooks/records/delivery-record.ts';
import { deliveryOutcome } from '../../webhooks/records/delivery-record-schema.ts';
import { findDelivery, type NamedDelivery, newestDeliveries } from '../../webhooks/records/newest-deliveries.ts';
import { JournalLines, readRecordedEvents } from '../../webhooks/replay/recorded-requests.ts';
import type { ReplaySelection } from '../../webhooks/replay/selected-events.ts';
import { type ShownDependencies, shownSending } from '../../webhooks/replay/shown-requests.ts';
import { answerJson, answerNothing, answerText } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { readJsonObject } from '../request-body.ts';
import { Parameters, pathPart, readEventSelection, selectionNames } from './parameters.ts';
import type { DeliveryView, ListedDelivery } from './schemas/deliveries.ts';

const maxNamed = 10_000;

/** Answers `GET /api/deliveries` with deliveries, newest first. */
export async function listDeliveries(c: ConsoleContext): Promise<Response> {
  const { query, service } = c.env;
  const names = ['handler', 'outcome', 'kind', 'since', 'until', 'event_id', 'event_uuid', 'limit', 'cursor'];
  const parameters = Parameters.fromQuery(query, names);
  const filter = {
    handlers: parameters.texts('handler', 100),
    outcomes: parameters.oneOf('outcome', deliveryOutcome.options),
    kinds: parameters.oneOf('kind', recordKinds),
    sinceMs: parameters.timeMs('since'),
    untilMs: parameters.timeMs('until'),
    eventId: parameters.text('event_id'),
    eventUuid: parameters.text('event_uuid'),
  };
  const limit = parameters.number('limit', { usual: 50, max: 500 });
  const page = await newestDeliveries(service.sources.deliveries.records, filter, { limit, cursor: parameters.text('cursor') });
  if (!page) throw new ServiceError('bad-request', '"cursor" must be the "next" of the previous page.');
  return answerJson(c, { deliveries: await listed(page.deliveries, service.sources.deliveries.shown()), next: page.next ?? null });
}

/** Answers `GET /api/deliveries/{id}` with a delivery, its request and its reply. */
export async function showDelivery(c: ConsoleContext): Promise<Response> {
  const { deliveries } = c.env.service.sources;
  const delivery = await findDelivery(deliveries.records, pathPart(c, 'id'));
  if (!delivery) throw new ServiceError('not-found', 'There is no such delivery, or it is no longer kept.');
  const { request, first } = await shownSending(delivery, deliveries.shown());
  return answerJson(c, {
    ...shownDelivery(delivery),
    ...(first && { first_event: first.event }),
    request,
    reply: delivery.record.reply ?? null,
  });
}

async function listed(deliveries: readonly NamedDelivery[], { journal }: ShownDependencies): Promise<ListedDelivery[]> {
  const lines = new JournalLines(journal);
  const found: ListedDelivery[] = [];
  try {
    // The oldest delivery is looked up first, because the journal is read forwards in blocks, and a block often contains the events of
    // several deliveries.
    for (const delivery of deliveries.toReversed()) {
      const [first] = (await readRecordedEvents({ events: delivery.record.events.slice(0, 1) }, lines)) ?? [];
      found.push({ ...shownDelivery(delivery), ...(first && { first_event: first.event }) });
    }
  } finally {
    lines.close();
  }
  return found.reverse();
}

/** Returns a delivery as the page of an event shows it. */
export function shownDelivery({ id, record }: NamedDelivery): DeliveryView {
  const { time, handler, outcome, attempts, details = '', fault, source = 'service', file } = record;
  const events = record.events.map((event) => ({ id: event.id, uuid: event.uuid }));
  return { id, time, handler, outcome, events, attempts, details, ...(fault && { fault }), source, ...(file && { file }) };
}

/** Answers `POST /api/replays`: starts to send events again to the configured handlers, at their current URLs. */
export async function startReplay(c: ConsoleContext): Promise<Response> {
  const { replays } = c.env.service.sources.deliveries;
  const body = await readJsonObject(c);
  const parameters = new Parameters(body, [
    'deliveries',
    'events',
    'filter',
    'failed',
    'never_sent',
    'force',
    'as_of',
    'handlers',
    'dry_run',
    'count_only',
    'stop_after_failures',
  ]);
  const deliveries = parameters.texts('deliveries', maxNamed) ?? [];
  const uuid = parameters.texts('events', maxNamed) ?? [];
  const failed = parameters.flag('failed');
  const filter = readFilter(body.filter);
  if (deliveries.length > 0 === (uuid.length > 0 || filter !== undefined || failed))
    throw new ServiceError('bad-request', 'Select what to send: either "deliveries", or "events", "filter" or "failed".');
  const neverSent = body.never_sent === undefined || parameters.flag('never_sent');
  const selection = { id: [], ...filter, uuid, failed, neverSent, force: parameters.flag('force') };
  const countsOnly = parameters.flag('count_only');
  const isDryRun = countsOnly || parameters.flag('dry_run');
  const stopAfterFailures = parameters.count('stop_after_failures', 10_000);
  const handlers = parameters.texts('handlers', 1000) ?? [];
  const asOfMs = parameters.timeMs('as_of');
  const request = { deliveries, selection, handlers, asOfMs, isDryRun, countsOnly, stopAfterFailures };
  const id = await replays.start(request, requireAdministrator(c).name);
  if (!isDryRun) await recordAction(c, 'replay', id);
  return answerJson(c, { id }, { status: 202, headers: { location: `/api/replays/${id}` } });
}

function readFilter(value: unknown): ReplaySelection | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value)) throw new ServiceError('bad-request', '"filter" must be an object.');
  return readEventSelection(new Parameters(value, selectionNames));
}

/** Answers `GET /api/replays` with the replays of all nodes, newest first, without those that only count. */
export async function listReplays(c: ConsoleContext): Promise<Response> {
  const { replays, incomplete } = await c.env.service.sources.deliveries.replays.list();
  return answerJson(c, { replays: replays.filter(({ count_only }) => !count_only), incomplete });
}

/** Answers `GET /api/replays/{id}` with the progress of a replay. */
export async function showReplay(c: ConsoleContext): Promise<Response> {
  return answerJson(c, await c.env.service.sources.deliveries.replays.find(pathPart(c, 'id')));
}

/** Answers `GET /api/replays/{id}/results` with the results so far, one per line. */
export async function showReplayResults(c: ConsoleContext): Promise<Response> {
  const results = await c.env.service.sources.deliveries.replays.results(pathPart(c, 'id'));
  return answerText(c, results, { headers: { 'content-type': 'application/x-ndjson' } });
}

/** Answers `DELETE /api/replays/{id}`, which cancels a replay that has not ended. */
export async function cancelReplay(c: ConsoleContext): Promise<Response> {
  const id = pathPart(c, 'id');
  const { replays } = c.env.service.sources.deliveries;
  const { dry_run } = await replays.find(id);
  await replays.cancel(id);
  if (!dry_run) await recordAction(c, 'replay-cancel', id);
  return answerNothing(c);
}
