import { html } from '../html.ts';
import { icon } from '../icons.ts';
import type { PageContext } from '../page-context.ts';
import type { ListingModel } from './listing-model.ts';
import { orderQuery } from './listing-order.ts';
import { rangeOfPage, rowsOfPage, type ShownRange } from './listing-range.ts';

/**
 * What stands below the table: how many members there are, with links to the other pages of a very large folder, or a word about the emptiness;
 * and how many names cannot be shown. Where rows are left to the script it says how many there are.
 */
export function listingEnd(context: PageContext, model: ListingModel, shown: ShownRange) {
  const { language } = context;
  const { count } = model.entries;
  const items = language.text('items', { count });
  const unreadable = model.unreadableNames();
  const missing = unreadable > 0 && html`<p class="notice" id="unreadable">${language.text('unreadableNames', { count: unreadable })}</p>`;
  const end = Math.min(count, rangeOfPage(model.page).to);
  const rows = end > shown.to && html` data-rows="${end - shown.from}"`;
  if (count > rowsOfPage) return html`<div class="count" id="count"${rows}>${items}${pageLinks(context, model)}</div>${missing}`;
  if (count > 0) return html`<p class="count" id="count"${rows}>${items}</p>${missing}`;
  const lead = html`<p class="lead">${language.text('empty')}</p>`;
  if (!model.mayWrite)
    return html`<div class="empty closed" id="count">${icon('files')}${lead}<p class="hint">${language.text('emptyClosed')}</p></div>${missing}`;
  return html`<div class="empty" id="count">${icon('upload')}${lead}\
<p class="hint plain">${language.text('emptyHint')}</p><p class="hint scripted">${language.text('emptyDrop')}</p></div>${missing}`;
}

function pageLinks({ language }: PageContext, { entries, order, page }: ListingModel) {
  const pages = Math.ceil(entries.count / rowsOfPage);
  const link = (to: number, rel: 'prev' | 'next', text: 'previousPage' | 'nextPage') =>
    html`<a class="button quiet" rel="${rel}" href="${orderQuery(order)}&amp;page=${to}">${language.text(text)}</a>`;
  const [before, after] = [Math.min(page - 1, pages), page + 1];
  return html`<nav class="pages" aria-label="${language.text('pages')}">
${before >= 1 && link(before, 'prev', 'previousPage')}<span>${language.text('pageOfPages', { page, pages })}</span>${after <= pages && link(after, 'next', 'nextPage')}
</nav>`;
}
