import type { ListedEntry } from '../../../../files/entry.ts';
import { escapeFormValue, escapeHtml, html, icon, nameHtml } from '../../../../lib/html.ts';
import { fileIconClasses } from '../../../../lib/media-types.ts';
import type { Language } from '../locales/language.ts';
import type { PageContext } from '../page.ts';
import { type ListingModel, orderQuery, rangeOfPage, rowsOfPage, type ShownRange } from './listing-model.ts';

/**
 * Renders the end of a listing: the numbers of members and of unreadable names. A very large folder also has links to its other pages,
 * and an empty folder has a text. If only the first rows of the page are sent, `data-rows` tells the script how many rows the page has.
 */
function listingEnd(context: PageContext, model: ListingModel, shown: ShownRange) {
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
<p class="hint plain">${language.text('emptyHint')}</p><p class="hint scripted mouse">${language.text('emptyDrop')}</p>\
<button type="button" class="primary">${language.text('upload')}</button></div>${missing}`;
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

/** Yields the rows of one page in chunks, then the end of the table and of the listing. */
export async function* listingRows(
  context: PageContext,
  model: ListingModel,
  batches: AsyncIterable<ListedEntry[]>,
  range: ShownRange,
): AsyncGenerator<string> {
  let count = 0;
  const { language } = context;
  const [before = '', after = ''] = escapeHtml(language.text('selectName')).split('{name}');
  const folder = `<span class=hidden>${escapeHtml(language.text('folder'))}</span>`;
  for await (const batch of inRange(batches, range)) {
    let chunk = '';
    for (const entry of batch) {
      if (count === 0) chunk = '<tbody role="rowgroup">';
      chunk += row(language, entry, before, after, folder);
      count++;
    }
    yield chunk;
  }
  yield `${count === 0 ? '' : '</tbody>'}</table>${listingEnd(context, model, range).text}`;
}

/**
 * Yields the rows of one page for the script, one line of JSON per row with name, icon classes, size in bytes and modification as Unix
 * time.
 */
export async function* listingLines({ entries, page }: Pick<ListingModel, 'entries' | 'page'>): AsyncGenerator<string> {
  for await (const batch of inRange(entries, rangeOfPage(page))) {
    yield batch.map((entry) => `${JSON.stringify([entry.name, iconClasses(entry), entry.sizeBytes, modifiedSeconds(entry)])}\n`).join('');
  }
}

async function* inRange(batches: AsyncIterable<ListedEntry[]>, { from, to }: ShownRange): AsyncGenerator<ListedEntry[]> {
  let at = 0;
  for await (const batch of batches) {
    yield batch.slice(Math.max(0, from - at), Math.max(0, to - at));
    at += batch.length;
    if (at >= to) break;
  }
}

function iconClasses({ isFolder, name }: ListedEntry): string {
  return isFolder ? 'folder' : fileIconClasses(name);
}

function modifiedSeconds({ modifiedMs }: ListedEntry): number {
  return Math.floor(modifiedMs / 1000);
}

/** Matches names that need no escaping anywhere: in HTML, in unquoted attributes, in URLs. */
const plainName = /^[\w.-]+$/;

/** Matches nearly all other names. They need no escaping in HTML and in quoted attributes, and have no right-to-left text. */
const quotableName = /^[ !#$%()*+,\-./0-9:;=?@A-Z[\\\]^_`a-z{|}~]+$/;

/**
 * Renders one row in as few bytes as HTML allows (no end tags, no quotes, relative links), because rows make up most of a large page.
 * Some browsers forget the roles of cells if a table is laid out as a grid, so the script adds the roles.
 */
function row(language: Language, entry: ListedEntry, before: string, after: string, folder: string): string {
  const { name } = entry;
  let [value, label, text, href] = [name, name, name, name];
  if (!plainName.test(name)) {
    const isQuotable = quotableName.test(name);
    value = `"${isQuotable ? name : escapeFormValue(name)}"`;
    label = isQuotable ? name : escapeHtml(name);
    text = isQuotable ? name : `<bdi>${nameHtml(name)}</bdi>`;
    href = escapeHtml(encodeURIComponent(name));
  }
  return `<tr data-size=${entry.sizeBytes}>\
<td><input type=checkbox name=selected-members value=${value} aria-label="${before}${label}${after}">\
<td><a class="i ${iconClasses(entry)}" href="./${href}${entry.isFolder ? '/' : ''}">${text}</a>\
<td>${entry.isFolder ? folder : language.size(entry.sizeBytes)}\
<td data-time=${modifiedSeconds(entry)}>${language.date(entry.modifiedMs)}\n`;
}
