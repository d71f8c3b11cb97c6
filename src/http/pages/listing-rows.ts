import type { Entry } from '../../files/entry.ts';
import { type InlineKind, inlineKind, mediaTypeOf } from '../../files/media-types.ts';
import { memberPath } from '../../lib/virtual-path.ts';
import { urlPathOf } from '../request-target.ts';
import { escapeFormValue, escapeHtml, html, nameHtml } from './html.ts';
import { icon } from './icons.ts';
import type { ListingModel } from './listing-model.ts';
import type { PageContext } from './page-context.ts';

/** Rows of one group; the browser lays out the groups in sight alone, so that 10,000 entries scroll smoothly. */
const groupSize = 100;

/** The rows of the table in chunks, then the table's end and the count, or a word about the emptiness. */
export async function* listingRows(context: PageContext, model: ListingModel): AsyncGenerator<string> {
  let count = 0;
  const [before = '', after = ''] = escapeHtml(context.language.text('selectName')).split('{name}');
  for await (const batch of model.entries) {
    let chunk = '';
    for (const entry of batch) {
      if (count % groupSize === 0) chunk += `${count === 0 ? '' : '</tbody>'}<tbody role="rowgroup">`;
      chunk += row(context, model, entry, [before, after]);
      count++;
    }
    if (chunk !== '') yield chunk;
  }
  yield `${count === 0 ? '' : '</tbody>'}</table>${ending(context, model, count).text}`;
}

function ending({ language }: PageContext, model: ListingModel, count: number) {
  if (count > 0) return html`<p class="count" id="count">${language.text('items', { count })}</p>`;
  const hint = model.mayWrite && html`<br><span class="hint">${language.text('emptyHint')}</span>`;
  return html`<p class="empty" id="count">${icon(model.mayWrite ? 'upload' : 'files')}${language.text('empty')}${hint}</p>`;
}

/** Names that are the same in HTML, in attributes and in URLs: most of them, so most rows need no escaping. */
const plainName = /^[\w.-]+$/;

function row(context: PageContext, model: ListingModel, entry: Entry, [labelBefore, labelAfter]: readonly [string, string]): string {
  const { language } = context;
  const { name } = entry;
  const isPlain = plainName.test(name);
  const url = escapeHtml(urlPathOf(memberPath(model.path, name), entry.isFolder));
  const { preview, look } = entry.isFolder ? folderLook : lookOf(mediaTypeOf(name));
  return `<tr role="row" data-size="${entry.sizeBytes}"${preview ? ` data-preview="${preview}"` : ''}>\
<td role="cell" class="check"><input type="checkbox" name="selected-members" value="${isPlain ? name : escapeFormValue(name)}" aria-label="${labelBefore}${isPlain ? name : escapeHtml(name)}${labelAfter}"></td>\
<td role="cell" class="name"><a class="i ${look}" href="${url}"><bdi>${isPlain ? name : nameHtml(name)}</bdi></a></td>\
<td role="cell" class="size">${entry.isFolder ? '' : language.size(entry.sizeBytes)}</td>\
<td role="cell" class="modified"><time datetime="${new Date(entry.modifiedMs).toISOString()}">${language.date(entry.modifiedMs)}</time></td></tr>\n`;
}

/** How a member looks: the class of its icon, and the kind of its preview if it has one. */
interface Look {
  look: string;
  preview: InlineKind | undefined;
}

const folderLook: Look = { look: 'folder', preview: undefined };
const looks = new Map<string, Look>();

function lookOf(mediaType: string): Look {
  const known = looks.get(mediaType);
  if (known) return known;
  const preview = inlineKind(mediaType);
  const isArchive = /zip|gzip|tar|rar|7z|zstd|xz|bzip/.test(mediaType);
  const made = { preview, look: preview ?? (isArchive ? 'archive' : 'file') };
  looks.set(mediaType, made);
  return made;
}
