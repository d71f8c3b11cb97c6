import type { DeliveryView } from '../../../console/api/schemas/deliveries.ts';
import { make } from '../../shared/dom.ts';
import { eventBadge, namedEvent } from '../event-kinds.ts';
import { handlerName } from '../handler-names.ts';
import { text, translate } from '../language.ts';
import { hashFor } from '../route.ts';
import { outcomeBadge } from '../section.ts';
import { clear, datum, numberText, timeElement } from '../shown.ts';
import { type Column, makeTable, type Table } from '../table.ts';

/** Builds a table of deliveries, each with a link to its page. @param before additional columns at the beginning */
export function deliveryTable(caption: string, before: readonly Column<DeliveryView>[] = []): Table<DeliveryView> {
  const table = makeTable<DeliveryView>(
    caption,
    text('noDeliveries'),
    [
      ...before,
      { title: text('time'), cell: ({ time }) => timeElement(time), className: 'narrow last' },
      { title: text('outcome'), cell: ({ outcome }) => outcomeBadge(outcome), className: 'narrow' },
      {
        title: text('handler'),
        cell: ({ id, handler }) => make('a.row-link', { href: hashFor('deliveries', id) }, datum(handlerName(handler))),
      },
      { title: text('events'), cell: ({ events }) => eventIds(events), className: 'kind second-line' },
      { title: text('attempts'), cell: ({ attempts }) => numberText(attempts.length), className: 'number wide-only roomy' },
      { title: text('reply'), cell: lastReply, className: 'second-line reply one-line' },
      { title: text('source'), cell: ({ source }) => translate('source', source), className: 'wide-only roomy' },
    ],
    ({ id }) => id,
  );
  table.element.classList.add('listed');
  return table;
}

const maxIds = 3;

function eventIds(events: DeliveryView['events']): HTMLElement {
  const ids = [...new Set(events.map(({ id }) => id))];
  const rest = events.length - 1;
  return make(
    'span.badges',
    ...ids.slice(0, maxIds).map(ids.length === 1 ? namedEvent : eventBadge),
    rest > 0 && make('span.hint', text('eventCount', { count: events.length })),
  );
}

function lastReply({ attempts, details }: DeliveryView): HTMLElement {
  const last = attempts.at(-1);
  if (last?.status !== undefined) return make('span', `${last.status} `, datum(last.reason ?? ''));
  return Object.assign(datum(last?.error ?? details), { title: clear(last?.error ?? details) });
}
