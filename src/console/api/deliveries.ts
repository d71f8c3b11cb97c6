import { ServiceError } from '../../lib/errors.ts';
import { recordKinds } from '../../webhooks/records/delivery-record.ts';
import { deliveryOutcome } from '../../webhooks/records/delivery-record-schema.ts';
import { deliveryOf, type NamedDelivery, newestDeliveries } from '../../webhooks/records/newest-deliveries.ts';
import { shownSending } from '../../webhooks/replay/shown-delivery.ts';
import { answerJson } from '../answer.ts';
import type { ConsoleContext } from '../environment.ts';
import { Parameters, pathPart } from './parameters.ts';

const maxPerPage = 500;
const usualOfPage = 50;

/** `GET /api/deliveries`: the newest first. */
export async function listDeliveries(c: ConsoleContext): Promise<Response> {
  const { query, service } = c.env;
  const names = ['handler', 'outcome', 'kind', 'since', 'until', 'event_id', 'event_uuid', 'limit', 'cursor'];
  const parameters = Parameters.ofQuery(query, names);
  const filter = {
    handlers: parameters.texts('handler', 100),
    outcomes: parameters.oneOf('outcome', deliveryOutcome.options),
    kinds: parameters.oneOf('kind', recordKinds),
    sinceMs: parameters.timeMs('since'),
    untilMs: parameters.timeMs('until'),
    eventId: parameters.text('event_id'),
    eventUuid: parameters.text('event_uuid'),
  };
  const limit = parameters.number('limit', { usual: usualOfPage, most: maxPerPage });
  const page = await newestDeliveries(service.sources.deliveries.records, filter, { limit, cursor: parameters.text('cursor') });
  if (!page) throw new ServiceError('bad-request', '"cursor" must be what "next" of a page before says.');
  return answerJson(c, { deliveries: page.deliveries.map(shownDelivery), next: page.next ?? null });
}

/** `GET /api/deliveries/{id}`: all that is known of one. */
export async function showDelivery(c: ConsoleContext): Promise<Response> {
  const { deliveries } = c.env.service.sources;
  const delivery = await deliveryOf(deliveries.records, pathPart(c, 'id'));
  if (!delivery) throw new ServiceError('not-found', 'There is no such delivery, or it is not kept any more.');
  const sending = await shownSending(delivery, deliveries.shown());
  return answerJson(c, { ...shownDelivery(delivery), request: sending, reply: delivery.record.reply ?? null });
}

/** A delivery as lists show it. */
export function shownDelivery({ id, record: { time, handler, outcome, events, attempts, details, source } }: NamedDelivery) {
  return {
    id,
    time,
    handler,
    outcome,
    events: events.map(({ id: eventId, uuid }) => ({ id: eventId, uuid })),
    attempts,
    details: details ?? '',
    source: source ?? 'service',
  };
}
