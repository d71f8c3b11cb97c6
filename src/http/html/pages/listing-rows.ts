import type { Entry } from '../../../files/entry.ts';
import { fileLook } from './file-looks.ts';
import { escapeFormValue, escapeHtml, html, nameHtml } from './html.ts';
import { icon } from './icons.ts';
import type { ListingModel } from './listing-model.ts';
import type { Language } from './locales/language.ts';
import type { PageContext } from './page-context.ts';

/** Rows of one group; the browser lays out the groups in sight alone, so that 10,000 entries scroll smoothly. */
const groupSize = 100;

/** The rows of the table in chunks, then the table's end and the count, or a word about the emptiness; and of names that cannot be shown. */
export async function* listingRows(context: PageContext, model: ListingModel): AsyncGenerator<string> {
  let count = 0;
  const { language } = context;
  const [before = '', after = ''] = escapeHtml(language.text('selectName')).split('{name}');
  const folder = `<span class=hidden>${escapeHtml(language.text('folder'))}</span>`;
  for await (const batch of model.entries) {
    let chunk = '';
    for (const entry of batch) {
      if (count % groupSize === 0) chunk += `${count === 0 ? '' : '</tbody>'}<tbody role="rowgroup">`;
      chunk += row(language, entry, before, after, folder);
      count++;
    }
    if (chunk !== '') yield chunk;
  }
  yield `${count === 0 ? '' : '</tbody>'}</table>${ending(context, model, count).text}`;
}

function ending({ language }: PageContext, model: ListingModel, count: number) {
  const unreadable = model.unreadableNames();
  const missing = unreadable > 0 && html`<p class="notice" id="unreadable">${language.text('unreadableNames', { count: unreadable })}</p>`;
  if (count > 0) return html`<p class="count" id="count">${language.text('items', { count })}</p>${missing}`;
  const lead = html`<p class="lead">${language.text('empty')}</p>`;
  if (!model.mayWrite)
    return html`<div class="empty closed" id="count">${icon('files')}${lead}<p class="hint">${language.text('emptyClosed')}</p></div>${missing}`;
  return html`<div class="empty" id="count">${icon('upload')}${lead}\
<p class="hint plain">${language.text('emptyHint')}</p><p class="hint scripted">${language.text('emptyDrop')}</p></div>${missing}`;
}

/** Names that are the same in HTML, in attributes without quotes and in URLs. */
const plainName = /^[\w.-]+$/;

/** Names that are the same in HTML and in attributes with quotes, and read from left to right: nearly all that are not plain. */
const quotableName = /^[ !#$%()*+,\-./0-9:;=?@A-Z[\\\]^_`a-z{|}~]+$/;

/**
 * One row, in as few bytes as HTML allows (no end tags, no quotes, links relative to the folder): most of a large page is rows. The roles of
 * its cells are HTML's own; the script adds them for browsers that forget them where a table is laid out as a grid.
 */
function row(language: Language, entry: Entry, before: string, after: string, folder: string): string {
  const { name } = entry;
  let [value, label, text, href] = [name, name, name, name];
  if (!plainName.test(name)) {
    const isQuotable = quotableName.test(name);
    value = `"${isQuotable ? name : escapeFormValue(name)}"`;
    label = isQuotable ? name : escapeHtml(name);
    text = isQuotable ? name : `<bdi>${nameHtml(name)}</bdi>`;
    href = escapeHtml(encodeURIComponent(name));
  }
  const look = entry.isFolder ? 'folder' : fileLook(name);
  return `<tr data-size=${entry.sizeBytes}>\
<td><input type=checkbox name=selected-members value=${value} aria-label="${before}${label}${after}">\
<td><a class="i ${look}" href="./${href}${entry.isFolder ? '/' : ''}">${text}</a>\
<td>${entry.isFolder ? folder : language.size(entry.sizeBytes)}\
<td data-time=${Math.floor(entry.modifiedMs / 1000)}>${language.date(entry.modifiedMs)}\n`;
}
