import type { ListedEntry } from '../../../files/entry.ts';
import { fileLook } from './file-looks.ts';
import { escapeFormValue, escapeHtml, nameHtml } from './html.ts';
import { listingEnd, rowsOfPage } from './listing-end.ts';
import type { ListingModel } from './listing-model.ts';
import type { Language } from './locales/language.ts';
import type { PageContext } from './page-context.ts';

/** Rows of one group; the browser lays out the groups in sight alone, so that 10,000 entries scroll smoothly. */
const groupSize = 100;

/** The rows of one page in chunks, then the table's end and what stands below it. */
export async function* listingRows(context: PageContext, model: ListingModel): AsyncGenerator<string> {
  let toSkip = (model.page - 1) * rowsOfPage;
  let count = 0;
  const { language } = context;
  const [before = '', after = ''] = escapeHtml(language.text('selectName')).split('{name}');
  const folder = `<span class=hidden>${escapeHtml(language.text('folder'))}</span>`;
  for await (const batch of model.entries) {
    let chunk = '';
    for (const entry of batch.slice(toSkip, toSkip + rowsOfPage - count)) {
      if (count % groupSize === 0) chunk += `${count === 0 ? '' : '</tbody>'}<tbody role="rowgroup">`;
      chunk += row(language, entry, before, after, folder);
      count++;
    }
    toSkip = Math.max(0, toSkip - batch.length);
    yield chunk;
    if (count === rowsOfPage) break;
  }
  yield `${count === 0 ? '' : '</tbody>'}</table>${listingEnd(context, model).text}`;
}

/** Names that are the same in HTML, in attributes without quotes and in URLs. */
const plainName = /^[\w.-]+$/;

/** Names that are the same in HTML and in attributes with quotes, and read from left to right: nearly all that are not plain. */
const quotableName = /^[ !#$%()*+,\-./0-9:;=?@A-Z[\\\]^_`a-z{|}~]+$/;

/**
 * One row, in as few bytes as HTML allows (no end tags, no quotes, links relative to the folder): most of a large page is rows. The roles of
 * its cells are HTML's own; the script adds them for browsers that forget them where a table is laid out as a grid.
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
  const look = entry.isFolder ? 'folder' : fileLook(name);
  return `<tr data-size=${entry.sizeBytes}>\
<td><input type=checkbox name=selected-members value=${value} aria-label="${before}${label}${after}">\
<td><a class="i ${look}" href="./${href}${entry.isFolder ? '/' : ''}">${text}</a>\
<td>${entry.isFolder ? folder : language.size(entry.sizeBytes)}\
<td data-time=${Math.floor(entry.modifiedMs / 1000)}>${language.date(entry.modifiedMs)}\n`;
}
