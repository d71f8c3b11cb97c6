import type { EventView } from '../../../console/api/schemas/events.ts';
import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { hashFor } from '../route.ts';
import { badge } from '../section.ts';
import { datum, timeElement } from '../shown.ts';
import { makeTable, type Table } from '../table.ts';

/** An event, and the journal position from which a search finds it and older ones. */
export interface ListedEvent extends EventView {
  place?: string;
}

export type EventTable = Table<ListedEvent>;

/** When an event happened, in ISO 8601. */
export function eventTime({ timestamp }: EventView): string {
  return new Date(Number(timestamp.timestamp) * 1000).toISOString();
}

/** A table of events; each leads to its page. */
export function eventTable(caption: string, empty: string): EventTable {
  return makeTable<ListedEvent>(
    caption,
    empty,
    [
      { title: text('time'), cell: (event) => timeElement(eventTime(event)), className: 'narrow' },
      { title: text('event'), cell: ({ id }) => badge(id), className: 'narrow' },
      {
        title: text('message'),
        cell: (event) => make('a.row-link', { href: hashFor('events', event.uuid, { at: eventTime(event) }) }, datum(event.message)),
      },
      { title: text('account'), cell: ({ account }) => datum(account.name) },
      { title: text('path'), cell: ({ data }) => datum(typeof data.path === 'string' ? data.path : '') },
      { title: text('address'), cell: ({ account }) => datum(account.peer?.address) },
    ],
    ({ uuid }) => uuid,
  );
}
