import type { Entry } from '../../files/entry.ts';
import { inlineKind, mediaTypeOf } from '../../files/media-types.ts';
import { memberPath } from '../../lib/virtual-path.ts';
import { urlPathOf } from '../request-target.ts';
import { escapeFormValue, escapeHtml, html, nameHtml } from './html.ts';
import type { ListingModel } from './listing-model.ts';
import type { PageContext } from './page-context.ts';

/** Rows of one group; the browser lays out the groups in sight alone, so that 10,000 entries scroll smoothly. */
const groupSize = 100;

/** The rows of the table in chunks, then the table's end and the count, or a word about the emptiness. */
export async function* listingRows(context: PageContext, model: ListingModel): AsyncGenerator<string> {
  let count = 0;
  for await (const batch of model.entries) {
    let chunk = '';
    for (const entry of batch) {
      if (count % groupSize === 0) chunk += `${count === 0 ? '' : '</tbody>'}<tbody role="rowgroup">`;
      chunk += row(context, model, entry);
      count++;
    }
    if (chunk !== '') yield chunk;
  }
  yield `${count === 0 ? '' : '</tbody>'}</table>${ending(context, model, count).text}`;
}

function ending({ language }: PageContext, model: ListingModel, count: number) {
  if (count > 0) return html`<p class="count" id="count">${language.text('items', { count })}</p>`;
  const hint = model.mayWrite && html`<br><span class="hint">${language.text('emptyHint')}</span>`;
  return html`<p class="empty" id="count">${language.text('empty')}${hint}</p>`;
}

function row({ language }: PageContext, model: ListingModel, entry: Entry): string {
  const url = escapeHtml(urlPathOf(memberPath(model.path, entry.name), entry.isFolder));
  const shown = nameHtml(entry.name);
  const label = escapeHtml(language.text('selectName', { name: entry.name }));
  const mediaType = mediaTypeOf(entry.name);
  const preview = entry.isFolder ? undefined : inlineKind(mediaType);
  const look = entry.isFolder ? 'folder' : (preview ?? archiveKind(mediaType));
  return `<tr role="row" data-size="${entry.sizeBytes}"${preview ? ` data-preview="${preview}"` : ''}>\
<td role="cell" class="check"><input type="checkbox" name="selected-members" value="${escapeFormValue(entry.name)}" aria-label="${label}"></td>\
<td role="cell" class="name"><a class="i ${look}" href="${url}"><bdi>${shown}</bdi></a></td>\
<td role="cell" class="size">${entry.isFolder ? '' : language.size(entry.sizeBytes)}</td>\
<td role="cell" class="modified"><time datetime="${new Date(entry.modifiedMs).toISOString()}">${language.date(entry.modifiedMs)}</time></td></tr>\n`;
}

function archiveKind(mediaType: string): 'archive' | 'file' {
  return /zip|gzip|tar|rar|7z|zstd|xz|bzip/.test(mediaType) ? 'archive' : 'file';
}
