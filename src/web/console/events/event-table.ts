import type { EventView } from '../../../console/api/schemas/events.ts';
import { make } from '../../shared/dom.ts';
import { eventMessage, namedEvent } from '../event-kinds.ts';
import { text } from '../language.ts';
import { hashFor } from '../route.ts';
import { clear, datum, messageDatum, timeElement } from '../shown.ts';
import { makeTable, type Table } from '../table.ts';
import { type QueryKey, withCondition } from './query.ts';

/** An event, and the journal position from which a search returns this event and older ones. */
export interface ListedEvent extends EventView {
  place?: string;
}

export type EventTable = Table<ListedEvent>;

/** Returns the time of an event in ISO 8601. */
export function eventTime({ timestamp }: EventView): string {
  return new Date(Number(timestamp.timestamp) * 1000).toISOString();
}

/** Returns the reason that an inspection gave for a refusal; empty if there is none, or if the message of the event contains the reason. */
export function eventReason({ data, message }: EventView): string {
  return typeof data.message === 'string' && !message.includes(data.message) ? data.message : '';
}

/** Shows a value of an event as a link that adds the value to a search. @param query the search */
export function conditionLink(key: QueryKey, value: unknown, query: URLSearchParams, content?: HTMLElement): HTMLElement {
  if (typeof value !== 'string' || value === '') return datum('');
  const link = make('a.value', { href: hashFor('events', '', withCondition(query, key, value)) }, content ?? datum(value));
  link.title = text('searchFor', { condition: `${key}:${clear(value)}` });
  return link;
}

/** Shows the account of an event. The system account has no link, because no person uses it. */
export function accountLink({ account, data }: EventView, query: URLSearchParams): HTMLElement {
  // Administrators have no account. The page searches for their name as text.
  if (typeof data.administrator === 'string')
    return conditionLink('text', data.administrator, query, datum(text('administratorNamed', { name: data.administrator })));
  if (isSystem(account)) return make('span.hint', text('system'));
  if (account.uuid !== accounts.nobody) return conditionLink('account', account.name, query);
  return data.username ? conditionLink('account', data.username, query) : make('span.hint', text('nobody'));
}

/** Shows the account of an event as a link to its page. Without an account, it is a link to a search. */
export function accountPageLink(event: EventView): HTMLElement {
  const { account, data } = event;
  const isPerson = typeof data.administrator !== 'string' && !isSystem(account) && account.uuid !== accounts.nobody;
  if (!isPerson || account.name === '') return accountLink(event, new URLSearchParams());
  return make('a', { href: hashFor('accounts', account.name) }, datum(account.name));
}

/** Events of expectations have the UUID of the system, but the name of the account whose files are expected. */
function isSystem({ uuid, name }: EventView['account']): boolean {
  return uuid === accounts.system && name === 'Process';
}

/** Returns the client's address; empty for events without a client, such as those of sessions that timed out. */
export function clientAddress({ account: { peer } }: EventView): string {
  return !peer || peer.address === '0.0.0.0' ? '' : peer.address;
}

/** `system`: account of events without a client; `nobody`: account of clients without a login (docs/spec/events.md#special-accounts). */
const accounts = { system: '00000000-0000-4000-8000-000000000001', nobody: '00000000-0000-4000-8000-000000000002' };

/**
 * A table of events, each with a link to its page.
 *
 * @param query the current search, to which a click on a value adds this value
 */
export function eventTable(caption: string, empty: string, query = new URLSearchParams()): EventTable {
  // Links to searches are not in the tab order, so that the Tab key moves from row to row. The event's page has the same links.
  const inRow = (link: HTMLElement) => Object.assign(link, { tabIndex: -1 });
  const table = makeTable<ListedEvent>(
    caption,
    empty,
    [
      { title: text('time'), cell: (event) => timeElement(eventTime(event)), className: 'narrow last' },
      {
        title: text('event'),
        cell: ({ id, data }) => inRow(conditionLink('event', id, query, namedEvent(id, data))),
        className: 'kind first narrow',
      },
      {
        title: text('message'),
        className: 'second-line one-line main-column',
        cell: (event) => {
          const href = hashFor('events', event.uuid, { at: eventTime(event) });
          const reason = eventReason(event);
          const whole = [eventMessage(event), reason].filter(Boolean).join(' ');
          return make(
            'a.row-link',
            { href, title: clear(whole), className: 'row-link two-lines' },
            messageDatum(whole, event.data.due, event.data.grace_ends),
          );
        },
      },
      { title: text('account'), cell: (event) => inRow(accountLink(event, query)), className: 'third-line one-line of-account' },
      { title: text('path'), cell: ({ data }) => inRow(conditionLink('path', data.path, query)), className: 'wide-only one-line spacious' },
      {
        title: text('address'),
        cell: (event) => inRow(conditionLink('address', clientAddress(event), query)),
        className: 'wide-only narrow roomy',
      },
    ],
    ({ uuid }) => uuid,
  );
  table.element.classList.add('listed', 'of-events');
  return table;
}
