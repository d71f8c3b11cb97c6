import { html } from '../html.ts';
import { icon } from '../icons.ts';
import type { PageContext } from '../page-context.ts';
import { type ListingOrder, orderQuery } from './listing-order.ts';

/** The head of the table: each column is a link that sorts by it, or turns its order round. */
export function listingHead(context: PageContext, order: ListingOrder) {
  const { language } = context;
  return html`<thead role="rowgroup"><tr role="row">
<th role="columnheader" class="check"><span class="hidden">${language.text('select')}</span></th>
${column(order, 'name', language.text('name'))}
${column(order, 'size', language.text('size'))}
${column(order, 'modified', language.text('modifiedUtc'), language.text('modified'))}
</tr></thead>`;
}

function column(order: ListingOrder, name: ListingOrder['column'], label: string, localLabel?: string) {
  const isSorted = order.column === name;
  // Sizes and times are most often wanted largest and newest first.
  const first = name === 'name' ? 'asc' : 'desc';
  const direction = isSorted ? (order.direction === 'asc' ? 'desc' : 'asc') : first;
  const sort = isSorted && html` aria-sort="${order.direction === 'asc' ? 'ascending' : 'descending'}"`;
  return html`<th role="columnheader" class="${name}"${sort}><a href="${orderQuery({ ...order, column: name, direction })}">
<span${localLabel !== undefined && html` data-local="${localLabel}"`}>${label}</span>${isSorted && icon(order.direction === 'asc' ? 'up' : 'down')}</a></th>`;
}

/** The button that puts folders before files, or among them; it is pressed while they come first. */
export function foldersSwitch({ language }: PageContext, { column, direction, folders }: ListingOrder) {
  const isFirst = folders === 'first';
  const label = language.text('foldersFirst');
  return html`<form class="switch" method="get">
<input type="hidden" name="sort" value="${column}"><input type="hidden" name="order" value="${direction}">
<button class="quiet" name="folders" value="${isFirst ? 'mixed' : 'first'}" aria-pressed="${isFirst ? 'true' : 'false'}" title="${label}">${icon('order')}<span>${label}</span></button>
</form>`;
}
