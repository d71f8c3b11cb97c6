import type { FoundEntry, Search } from '../../files/operations/search.ts';
import { bdi, Html, html, icon, nameHtml } from '../../lib/html.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { respond } from '../reply/respond.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { memberUrlPath } from '../request/request-target.ts';
import { folderModel, memberRights } from './html-listing.ts';
import { pageContextOf } from './page-replies.ts';
import { layout } from './pages/layout.ts';
import { folderHead, linksData, rightNames } from './pages/listing/listing-page.ts';
import { searchForm, tools } from './pages/listing/listing-tools.ts';
import { type PageContext, pageHeaders } from './pages/page.ts';

/** A search that the client requested. */
export interface AskedSearch {
  text: string;
  /** Whether the search covers all files of the account, not only those of the folder. */
  isEverywhere: boolean;
  /** The folder in which the search starts. */
  top: VirtualPath;
}

/**
 * Answers GET of a search below a folder with a page that grows during the search. If a page's script requests it, the page has no results,
 * because the script requests them separately as lines of JSON.
 */
export async function sendSearchPage(exchange: Exchange, asked: AskedSearch): Promise<Response> {
  const { path } = exchange;
  const { text, top } = asked;
  const context = pageContextOf(exchange);
  const { language } = context;
  const isForScript = header(exchange, 'x-requested-with') !== undefined;
  const marker = '<!--found-->';
  const title = language.text('searchFor', { text });
  const model = { ...folderModel(exchange, undefined), ...memberRights(exchange) };
  const columns = (['name', 'inFolder', 'size', 'modified'] as const).map(
    (name) => html`<th role="columnheader" data-sort="${name}">${language.text(name)}</th>`,
  );
  const body = html`<main id="main" data-may="${rightNames(context, model)}" data-taken="${model.onNameTaken}"${linksData(model)}>
${folderHead(context, model)}
${tools(context, model, searchForm(context, path, asked))}
<div id="members" tabindex="-1">
<h2>${new Html(nameHtml(title))}</h2>
<table class="found" role="table" aria-label="${title}" data-text="${text}"${isForScript && html` data-pending`}>
<thead role="rowgroup"><tr role="row">${columns}</tr></thead>
<tbody role="rowgroup">${new Html(marker)}
</div>
</main>`;
  const page = layout(context, { title, body, hasScript: true });
  if (isForScript) return respond(exchange, { status: 200, headers: pageHeaders(context), body: page.replace(marker, '</tbody></table>') });
  const [before = '', after = ''] = page.split(marker);
  // Sends the beginning of the page at once, while the search continues.
  return sendChunks(exchange, pageHeaders(context), foundChunks(context, before, exchange.files.search(top, text), { after, text }), {
    startsAfter: 1,
  });
}

async function* foundChunks(
  context: PageContext,
  before: string,
  found: Search,
  { after, text }: { after: string; text: string },
): AsyncGenerator<string> {
  yield before;
  let count = 0;
  for await (const batch of found) {
    count += batch.length;
    yield batch.map((entry) => line(context, entry, text).text).join('');
  }
  yield `</tbody></table>${searchEnd(context, count, found.isTruncated).text}${after}`;
}

function searchEnd({ language }: PageContext, count: number, isTruncated: boolean): Html {
  const rest = isTruncated && html`<p class="notice">${language.text('searchTruncated')}</p>`;
  if (count > 0) return html`<p class="count" id="count">${language.text('found', { count })}</p>${rest}`;
  return html`<div class="empty closed" id="count">${icon('search')}<p class="lead">${language.text('nothingFound')}</p>
<p class="hint">${language.text('nothingFoundHint')}</p></div>${rest}`;
}

function line({ language }: PageContext, { path, name, isFolder, sizeBytes, modifiedMs }: FoundEntry, text: string): Html {
  const folder = parentPath(path);
  const place = folder === '/' ? language.text('files') : folder;
  return html`<tr role="row"><td role="cell"><a class="i ${isFolder ? 'folder' : fileIconClasses(name)}" href="${memberUrlPath(path, isFolder)}">${marked(name, text)}</a></td>\
<td role="cell"><a href="${memberUrlPath(folder, true)}">${bdi(place)}</a></td>\
<td role="cell" data-size="${sizeBytes}">${isFolder ? html`<span class="hidden">${language.text('folder')}</span>` : language.size(sizeBytes)}</td>\
<td role="cell" data-time="${Math.floor(modifiedMs / 1000)}">${language.date(modifiedMs)}</td></tr>
`;
}

/** Renders a name. If it contains the searched text, ignoring case, that part is highlighted. */
function marked(name: string, text: string): Html {
  const at = name.toLowerCase().indexOf(text.toLowerCase());
  if (at < 0 || name.toLowerCase().length !== name.length) return bdi(name);
  const end = at + text.length;
  return html`<bdi>${new Html(nameHtml(name.slice(0, at)))}<mark>${new Html(nameHtml(name.slice(at, end)))}</mark>${new Html(nameHtml(name.slice(end)))}</bdi>`;
}
