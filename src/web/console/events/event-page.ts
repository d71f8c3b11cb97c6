import type { OpenedEvent } from '../../../console/api/schemas/deliveries.ts';
import { make } from '../../shared/dom.ts';
import { deliveryTable } from '../deliveries/delivery-table.ts';
import { eventKind, namedEvent } from '../event-kinds.ts';
import { findHandlers } from '../handler-names.ts';
import { text } from '../language.ts';
import { replayButton } from '../replay-button.ts';
import { ask, withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { facts, heading, panel, type Stage, wayTo } from '../section.ts';
import { clear, datum, messageDatum, timeElement } from '../shown.ts';
import { bodySource, tree } from '../values.ts';
import { accountPageLink, clientAddress, conditionLink, eventReason, eventTable, eventTime } from './event-table.ts';

/** The query to which a link on this page adds its value. It is empty, so that a click searches only for that value. */
const everything = new URLSearchParams();

/** Shows an event, its deliveries, and the other events of the same request. */
export async function showEvent({ main, route: { id, query }, signal }: Stage): Promise<void> {
  const path = withQuery(`/api/events/${encodeURIComponent(id)}`, { at: query.get('at') ?? undefined });
  const [{ event, deliveries, request_events }] = await Promise.all([ask<OpenedEvent>('GET', path, { signal }), findHandlers(signal)]);
  const ofEvent = deliveryTable(text('deliveriesOfEvent'));
  ofEvent.show(deliveries);
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
      replayButton(text('replay'), () => ({ events: [event.uuid] })),
    ),
    make('p.lead', messageDatum(event.message, event.data.due, event.data.grace_ends)),
    panel(
      text('summary'),
      facts(
        [text('time'), timeElement(eventTime(event))],
        [text('event'), conditionLink('event', event.id, everything, namedEvent(event.id, event.data))],
        [text('reason'), reason !== '' && datum(reason)],
        [text('account'), accountPageLink(event)],
        [text('address'), conditionLink('address', clientAddress(event), everything)],
        [text('path'), typeof event.data.path === 'string' && conditionLink('path', event.data.path, everything)],
        [text('component'), datum(event.component.name || event.component.uuid)],
        [text('server'), datum(event.server.name || event.server.uuid)],
        [
          text('requestId'),
          typeof requestId === 'string' && make('a', { href: hashFor('events', '', { request_id: requestId }) }, datum(requestId, 'code')),
        ],
        ['UUID', datum(event.uuid, 'code')],
      ),
    ),
    panel(text('data'), tree(event.data) || undefined),
    panel(text('deliveriesOfEvent'), ofEvent.element),
    panel(text('requestEvents'), ofRequest.element),
    make('details.panel', make('summary', text('wholeEvent')), bodySource(event, text('wholeEvent'))),
  );
}
