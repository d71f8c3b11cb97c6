import type { DeliveryView } from '../../../console/api/schemas/deliveries.ts';
import { make } from '../../shared/dom.ts';
import { handlerName } from '../handler-names.ts';
import { text, translate } from '../language.ts';
import { hashFor } from '../route.ts';
import { badge, outcomeBadge } from '../section.ts';
import { datum, numberText, timeElement } from '../shown.ts';
import { type Column, makeTable, type Table } from '../table.ts';

/** A table of deliveries; each leads to its page. @param before columns that stand first */
export function deliveryTable(caption: string, before: readonly Column<DeliveryView>[] = []): Table<DeliveryView> {
  return makeTable<DeliveryView>(
    caption,
    text('noDeliveries'),
    [
      ...before,
      { title: text('time'), cell: ({ time }) => timeElement(time), className: 'narrow' },
      { title: text('outcome'), cell: ({ outcome }) => outcomeBadge(outcome), className: 'narrow' },
      {
        title: text('handler'),
        cell: ({ id, handler }) => make('a.row-link', { href: hashFor('deliveries', id) }, datum(handlerName(handler))),
      },
      { title: text('events'), cell: ({ events }) => eventIds(events) },
      { title: text('attempts'), cell: ({ attempts }) => numberText(attempts.length), className: 'number' },
      { title: text('reply'), cell: lastReply },
      { title: text('source'), cell: ({ source }) => translate('source', source) },
    ],
    ({ id }) => id,
  );
}

const maxIds = 3;

function eventIds(events: DeliveryView['events']): HTMLElement {
  const ids = [...new Set(events.map(({ id }) => id))];
  const rest = events.length - 1;
  return make(
    'span.badges',
    ...ids.slice(0, maxIds).map((id) => badge(id)),
    rest > 0 && make('span.hint', text('eventCount', { count: events.length })),
  );
}

function lastReply({ attempts, details }: DeliveryView): HTMLElement {
  const last = attempts.at(-1);
  if (last?.status !== undefined) return make('span', `${last.status} `, datum(last.reason ?? ''));
  return datum(last?.error ?? details);
}
