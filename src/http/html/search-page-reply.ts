import type { FoundEntry, Search } from '../../files/operations/search.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { parentPath } from '../../lib/virtual-path.ts';
import { respond } from '../reply/respond.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { memberUrlPath } from '../request/request-target.ts';
import { pageContextOf } from './page-replies.ts';
import { bdi, Html, html, icon, nameHtml } from './pages/html.ts';
import { layout } from './pages/layout.ts';
import { folderHead } from './pages/listing/listing-page.ts';
import { searchForm } from './pages/listing/listing-tools.ts';
import { type PageContext, pageHeaders } from './pages/page.ts';

/**
 * GET of the results of a search below a folder, as a page that grows during the search. For the script of a page it is empty: the script
 * requests lines of JSON to fill it.
 */
export async function sendSearchPage(exchange: Exchange, text: string): Promise<Response> {
  const { path } = exchange;
  const context = pageContextOf(exchange);
  const { language } = context;
  const isForScript = header(exchange, 'x-requested-with') !== undefined;
  const marker = '<!--found-->';
  const title = language.text('searchFor', { text });
  const body = html`<main id="main" data-may="">
${folderHead(context, { path, flash: undefined })}
<div class="tools" id="tools">${searchForm(context, text)}</div>
<div id="members" tabindex="-1">
<h2>${new Html(nameHtml(title))}</h2>
<ul class="found"${isForScript && html` data-pending`}>${new Html(marker)}
</div>
</main>`;
  const page = layout(context, { title, body, hasScript: true });
  if (isForScript) return respond(exchange, { status: 200, headers: pageHeaders(context), body: page.replace(marker, '</ul>') });
  const [before = '', after = ''] = page.split(marker);
  // The beginning is shown while the search goes on.
  return sendChunks(exchange, pageHeaders(context), foundChunks(context, before, exchange.files.search(path, text), after), {
    startsAfter: 1,
  });
}

async function* foundChunks(context: PageContext, before: string, found: Search, after: string): AsyncGenerator<string> {
  yield before;
  let count = 0;
  for await (const batch of found) {
    count += batch.length;
    yield batch.map((entry) => line(context, entry).text).join('');
  }
  yield `</ul>${searchEnd(context, count, found.isTruncated).text}${after}`;
}

function searchEnd({ language }: PageContext, count: number, isTruncated: boolean): Html {
  const rest = isTruncated && html`<p class="notice">${language.text('searchTruncated')}</p>`;
  if (count > 0) return html`<p class="count" id="count">${language.text('found', { count })}</p>${rest}`;
  return html`<div class="empty closed" id="count">${icon('search')}<p class="lead">${language.text('nothingFound')}</p>
<p class="hint">${language.text('nothingFoundHint')}</p></div>${rest}`;
}

function line({ language }: PageContext, { path, name, isFolder, sizeBytes, modifiedMs }: FoundEntry): Html {
  const folder = parentPath(path);
  const place = folder === '/' ? language.text('files') : folder;
  const about = isFolder ? language.text('folder') : language.size(sizeBytes);
  return html`<li><a class="i ${isFolder ? 'folder' : fileIconClasses(name)}" href="${memberUrlPath(path, isFolder)}">${bdi(name)}</a>
<span class="hint"><a href="${memberUrlPath(folder, true)}">${bdi(place)}</a> &middot; ${about} &middot; <span data-time="${Math.floor(modifiedMs / 1000)}">${language.date(modifiedMs)}</span></span></li>
`;
}
