import type { FoundEntry, Search } from '../../files/operations/search.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { parentPath, pathSegments, type VirtualPath } from '../../lib/virtual-path.ts';
import { respond } from '../reply/respond.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { urlPathOf } from '../request/request-target.ts';
import { accountOfPage, pageContextOf } from './page-replies.ts';
import { Html, html, icon, nameHtml } from './pages/html.ts';
import { layout, type PageModel } from './pages/layout.ts';
import { folderHead } from './pages/listing/listing-page.ts';
import { searchForm } from './pages/listing/listing-tools.ts';
import type { PageContext } from './pages/page.ts';
import { pageHeaders } from './pages/page.ts';

/** What the page of a search shows. */
interface SearchModel {
  /** The folder that is searched, with all below it. */
  path: VirtualPath;
  text: string;
  account: PageModel['account'];
}

/** The page of a search, in chunks as it finds something. */
async function* searchPage(context: PageContext, model: SearchModel, found: Search): AsyncGenerator<string> {
  const [before, after] = aroundFound(context, model, html`<ul class="found">`);
  yield before;
  let count = 0;
  for await (const batch of found) {
    count += batch.length;
    yield batch.map((entry) => line(context, entry).text).join('');
  }
  yield `</ul>${searchEnd(context, count, found.isTruncated).text}${after}`;
}

/** The page of a search that a script fills. */
function emptySearchPage(context: PageContext, model: SearchModel): string {
  return aroundFound(context, model, html`<ul class="found" data-pending></ul>`).join('');
}

/** What stands before the first thing that is found, and after the last. @param list begins it */
function aroundFound(context: PageContext, { path, text, account }: SearchModel, list: Html): [before: string, after: string] {
  const { language } = context;
  const marker = '<!--found-->';
  const title = language.text('searchFor', { text });
  const body = html`<main id="main" data-may="">
${folderHead(context, { path, flash: undefined })}
<div class="tools" id="tools">${searchForm(context, text)}</div>
<div id="members" tabindex="-1">
<h2>${new Html(nameHtml(title))}</h2>
${list}${new Html(marker)}
</div>
</main>`;
  const [before = '', after = ''] = layout(context, { title, body, account, hasScript: true }).split(marker);
  return [before, after];
}

function searchEnd({ language }: PageContext, count: number, isTruncated: boolean): Html {
  const rest = isTruncated && html`<p class="notice">${language.text('searchTruncated')}</p>`;
  if (count > 0) return html`<p class="count" id="count">${language.text('found', { count })}</p>${rest}`;
  return html`<div class="empty closed" id="count">${icon('search')}<p class="lead">${language.text('nothingFound')}</p>
<p class="hint">${language.text('nothingFoundHint')}</p></div>${rest}`;
}

function line({ language }: PageContext, { path, name, isFolder, sizeBytes, modifiedMs }: FoundEntry): Html {
  const folder = parentPath(path);
  const place = pathSegments(folder).length === 0 ? language.text('files') : folder;
  const about = isFolder ? language.text('folder') : language.size(sizeBytes);
  return html`<li><a class="i ${isFolder ? 'folder' : fileIconClasses(name)}" href="${urlPathOf(path, isFolder)}">${new Html(`<bdi>${nameHtml(name)}</bdi>`)}</a>
<span class="hint"><a href="${urlPathOf(folder, true)}"><bdi>${new Html(nameHtml(place))}</bdi></a> &middot; ${about} &middot; <span data-time="${Math.floor(modifiedMs / 1000)}">${language.date(modifiedMs)}</span></span></li>
`;
}

/**
 * GET of what a search of a folder and all below it finds, as a page that grows while it goes on. The script of a page, which would not see it grow, gets
 * it empty, and asks for lines of JSON to fill it.
 */
export async function sendSearchPage(exchange: Exchange, text: string): Promise<Response> {
  const { path } = exchange;
  const context = pageContextOf(exchange);
  const model = { path, text, account: accountOfPage(exchange) };
  if (header(exchange, 'x-requested-with') !== undefined)
    return respond(exchange, { status: 200, headers: pageHeaders(), body: emptySearchPage(context, model) });
  // What is there before anything is found is shown while the search goes on.
  return sendChunks(exchange, pageHeaders(), searchPage(context, model, exchange.files.search(path, text)), { startsAfter: 1 });
}
