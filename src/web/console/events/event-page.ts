import type { DeliveryPage, ListedDelivery, OpenedEvent } from '../../../console/api/schemas/deliveries.ts';
import type { EventView } from '../../../console/api/schemas/events.ts';
import type { HandlerView } from '../../../console/api/schemas/overview.ts';
import { make } from '../../shared/dom.ts';
import { deliveryTable } from '../deliveries/delivery-table.ts';
import { eventKind, eventMessage, namedEvent } from '../event-kinds.ts';
import { findHandlers, handlerName, handlerText } from '../handler-names.ts';
import { text } from '../language.ts';
import { replayButton } from '../replay-button.ts';
import { ask, withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { badge, facts, heading, outcomeBadge, panel, type Stage, wayTo } from '../section.ts';
import { clear, datum, messageDatum, timeElement } from '../shown.ts';
import { bodySource, tree } from '../values.ts';
import { accountPageLink, clientAddress, conditionLink, eventReason, eventTable, eventTime } from './event-table.ts';

/** The query to which a link on this page adds its value. It is empty, so that a click searches only for that value. */
const everything = new URLSearchParams();

/** Shows an event, its deliveries, and the other events of the same request. */
export async function showEvent({ main, route: { id, query }, signal }: Stage): Promise<void> {
  const path = withQuery(`/api/events/${encodeURIComponent(id)}`, { at: query.get('at') ?? undefined });
  const [{ event, deliveries, wanted_by, request_events }, { handlers }] = await Promise.all([
    ask<OpenedEvent>('GET', path, { signal }),
    findHandlers(signal),
  ]);
  const told = await toldDelivery(event, signal);
  const handler = [event.data.uuid, event.data.handler, event.component.uuid].find((uuid) => handlers.some((one) => one.uuid === uuid));
  const expectation = event.data.expectation;
  const ofEvent = deliveryTable(text('deliveriesOfEvent'));
  ofEvent.show(deliveries);
  if (wanted_by.length === 0) ofEvent.sayIfEmpty(handlerText('wantedByNone'));
  // The service makes its own delivery even if somebody has sent the event by hand.
  const served = new Set(deliveries.flatMap(({ handler, source }) => (source === 'service' || source === 'upload' ? handler : [])));
  const owing = handlers.filter(({ uuid }) => !served.has(uuid) && wanted_by.some(({ handler, waits }) => waits && handler === uuid));
  const ofRequest = eventTable(text('requestEvents'), text('noRequestEvents'));
  ofRequest.show(request_events.filter(({ uuid }) => uuid !== event.uuid));
  const requestId = event.data.request_id;
  // If an inspection refused an upload, only the event of the refusal has the reason. For the event of the failed upload, the reason is
  // taken from the other events of the same request.
  const reason = eventReason(event) || (event.data.inspection ? request_events.map(eventReason).find(Boolean) : undefined) || '';
  const kind = eventKind(event.id);
  main.replaceChildren(
    wayTo('events'),
    heading(
      kind ? text('eventTitle', { id: event.id, name: clear(kind.name) }) : `${text('event')} ${event.id}`,
      // An event about a delivery offers to repeat that delivery. To send the event itself again would only repeat the news.
      isAboutDelivery(event)
        ? told && replayButton(text('replay'), () => ({ deliveries: [told.id] }), told.outcome === 'failed' ? 'primary' : '')
        : wanted_by.length > 0 && replayButton(text('replay'), () => ({ events: [event.uuid] })),
    ),
    make('p.lead', messageDatum(eventMessage(event), event.data.due, event.data.grace_ends)),
    panel(
      text('summary'),
      facts(
        [text('time'), timeElement(eventTime(event))],
        [text('event'), conditionLink('event', event.id, everything, namedEvent(event.id, event.data))],
        [text('reason'), reason !== '' && datum(reason)],
        [handlerText('toldDelivery'), told && deliveryLink(told)],
        [handlerText('toldEvent'), aboutEventLink(event)],
        [
          text('handler'),
          handler !== undefined && make('a', { href: hashFor('handlers', '', { show: `${handler}` }) }, datum(handlerName(`${handler}`))),
        ],
        [
          text('expectations'),
          typeof expectation === 'string' &&
            make(
              'a',
              { href: hashFor('expectations', expectation) },
              datum(typeof event.data.name === 'string' ? event.data.name : expectation),
            ),
        ],
        [text('account'), accountPageLink(event)],
        [text('address'), conditionLink('address', clientAddress(event), everything)],
        [text('path'), typeof event.data.path === 'string' && conditionLink('path', event.data.path, everything)],
        [text('component'), event.component.uuid !== handler && datum(event.component.name || event.component.uuid)],
        [text('server'), datum(event.server.name || event.server.uuid)],
        [
          text('requestId'),
          typeof requestId === 'string' && make('a', { href: hashFor('events', '', { request_id: requestId }) }, datum(requestId, 'code')),
        ],
        ['UUID', datum(event.uuid, 'code')],
      ),
    ),
    panel(text('data'), tree(event.data) || undefined),
    panel(
      text('deliveriesOfEvent'),
      owing.length > 0 && make('ul.plain-list', ...owing.map(waitingHandler)),
      (owing.length === 0 || deliveries.length > 0) && ofEvent.element,
    ),
    panel(text('requestEvents'), ofRequest.element),
    make('details.panel', make('summary', text('wholeEvent')), bodySource(event, text('wholeEvent'))),
  );
}

/** Says that a handler still has to deliver the event. */
function waitingHandler({ uuid, state }: HandlerView): HTMLElement {
  const words = handlerText(state === 'stopped' || state === 'paused' ? `waits_${state}` : 'waits_running');
  const kind = state === 'stopped' ? 'bad' : state === 'paused' ? 'warn' : 'calm';
  const link = make('a', { href: hashFor('handlers', '', { show: uuid }) }, datum(handlerName(uuid)));
  return make('li', make('span.badges', link, badge(words, kind)));
}

/** Whether an event reports a delivery: its `data` name the handler (`uuid`) and the event that was sent (`event_uuid`). */
function isAboutDelivery({ data }: EventView): boolean {
  return typeof data.event_uuid === 'string' && typeof data.uuid === 'string';
}

/** Finds the delivery that an event reports: the one nearest in time; undefined if its record is no longer kept. */
async function toldDelivery(event: EventView, signal: AbortSignal): Promise<ListedDelivery | undefined> {
  if (!isAboutDelivery(event)) return undefined;
  const { uuid: handler, event_uuid } = event.data;
  const toldMs = Date.parse(eventTime(event));
  // The clocks of nodes differ.
  const until = new Date(toldMs + 60_000).toISOString();
  const path = withQuery('/api/deliveries', { handler: `${handler}`, event_uuid: `${event_uuid}`, until });
  const { deliveries } = await ask<DeliveryPage>('GET', path, { signal });
  const distance = ({ time }: ListedDelivery) => Math.abs(Date.parse(time) - toldMs);
  return deliveries.toSorted((one, other) => distance(one) - distance(other))[0];
}

function deliveryLink({ id, outcome, time }: ListedDelivery): HTMLElement {
  return make('span.badges', outcomeBadge(outcome), make('a', { href: hashFor('deliveries', id) }, timeElement(time)));
}

/** Links to the event that was delivered. */
function aboutEventLink({ data: { event_id, event_uuid } }: EventView): HTMLElement | undefined {
  if (typeof event_uuid !== 'string') return undefined;
  return make(
    'a',
    { href: hashFor('events', event_uuid) },
    typeof event_id === 'string' ? namedEvent(event_id) : datum(event_uuid, 'code'),
  );
}
