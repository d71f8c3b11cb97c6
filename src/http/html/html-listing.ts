import type { Account } from '../../accounts/account.ts';
import type { EntryBatches } from '../../files/operations/account-listing.ts';
import type { FoundEntry, Search } from '../../files/operations/search.ts';
import { comparison, type ListingOrder, SortedListing, sortColumns } from '../../files/operations/sorted-listing.ts';
import { isServiceError } from '../../lib/errors.ts';
import { bdi, Html, html, icon, nameHtml } from '../../lib/html.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { parentPath, pathSegments, type VirtualPath } from '../../lib/virtual-path.ts';
import { aboutLink, downloadAll } from '../links/link-pages.ts';
import { statusCodes } from '../reply/error-reply.ts';
import { respond } from '../reply/respond.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { cookie, type Exchange, header } from '../request/exchange.ts';
import { memberUrlPath } from '../request/request-target.ts';
import { allowedTriggers } from '../rest/member-actions.ts';
import { keptForYear, readView, takeFlash } from './page-cookies.ts';
import { makePageContext } from './page-replies.ts';
import { layout } from './pages/layout.ts';
import { defaultOrder, type FolderModel, type ListingModel } from './pages/listing/listing-model.ts';
import { folderHead, limitsData, listingPage, rightNames } from './pages/listing/listing-page.ts';
import { listingLines } from './pages/listing/listing-rows.ts';
import { memberActions, searchForm, tools } from './pages/listing/listing-tools.ts';
import { type PageContext, pageHeaders } from './pages/page.ts';

/** The cookie that keeps the user's choice of order for all folders. */
const orderCookie = 'SVC_LISTING';

/**
 * Reads the order of a listing from the query (`?sort=size&order=desc&folders=first`), or else from the cookie. If neither has it, the
 * default applies (docs/spec/files.md#listings). Unknown values are ignored.
 *
 * @returns the order, and the `Set-Cookie` line for a new choice
 */
function readOrder(exchange: Exchange, query: URLSearchParams): { order: ListingOrder; line: string | undefined } {
  const kept = parseOrder((cookie(exchange, orderCookie) ?? '').split('-'), defaultOrder);
  const order = parseOrder([query.get('sort'), query.get('order'), query.get('folders')], kept);
  const line = `${orderCookie}=${order.column}-${order.direction}-${order.folders}; Path=/home/; ${keptForYear}`;
  return { order, line: ['sort', 'order', 'folders'].some((name) => query.has(name)) ? line : undefined };
}

function parseOrder([column, direction, folders]: readonly (string | null | undefined)[], base: ListingOrder): ListingOrder {
  return {
    column: sortColumns.find((candidate) => candidate === column) ?? base.column,
    direction: direction === 'asc' || direction === 'desc' ? direction : base.direction,
    folders: folders === 'first' || folders === 'mixed' ? folders : base.folders,
  };
}

function folderModel({ path, files, service }: Exchange, flash: FolderModel['flash']): FolderModel {
  return {
    path,
    mayLook: files.may(path, 'inspectFile'),
    mayWrite: files.may(path, 'createFile'),
    mayReplace: files.may(path, 'overwriteFile'),
    onNameTaken: files.account.onNameTaken,
    largestFileBytes: files.account.fileWriteSizeBytes || undefined,
    retainDays: files.account.retainDays,
    mayCreateFolder: files.may(path, 'createFolder'),
    metadata: service.options.metadata_fields,
    flash,
  };
}

/** Renders the page of a folder for an account that may upload files, but may not list the folder. */
function dropBoxPage(context: PageContext, model: FolderModel): string {
  const { language } = context;
  const body = html`<main id="main" data-may="write${model.mayLook && ' look'}${model.mayReplace && ' overwrite'}${model.mayCreateFolder && ' create-folder'}${context.account?.isInspected && ' inspected'}" data-taken="${model.onNameTaken}"${limitsData(model)}>
${folderHead(context, model)}
<div id="members" tabindex="-1">
${tools(context, model)}
<div class="empty">${icon('upload')}<p class="lead">${language.text('dropBox')}</p><p class="hint">${language.text('dropBoxHint')}</p></div>
</div>
</main>`;
  const title = pathSegments(model.path).at(-1) ?? language.text('files');
  return layout(context, { title, body, hasScript: true });
}

/** Builds `ListingModel.share`. */
function shareLimits({ visit, path, client, service }: Exchange): string | undefined {
  if (visit || !client?.account.links.enabled || !service.chain.takesGrants(client.account) || !client.files.may(path, 'share'))
    return undefined;
  return linkLimits(client.account);
}

/** Returns the limits of an account for new links in the form of `ListingModel.share`. */
export function linkLimits({ links: { default_days: usual, maximum_days: max, require_password: needsPassword } }: Account): string {
  return `${Math.min(usual, max)} ${max}${needsPassword ? ' password' : ''}`;
}

function memberRights(exchange: Exchange): Pick<ListingModel, 'mayRead' | 'mayDelete' | 'mayRename' | 'share'> {
  const { path, files, visit } = exchange;
  return {
    // If the link limits downloads, there are no previews, because a preview would count as a download.
    mayRead: files.may(path, 'readFile') && visit?.link.link?.maximumDownloads === undefined,
    mayDelete: files.may(path, 'deleteMember'),
    mayRename: files.may(path, 'rename'),
    share: shareLimits(exchange),
  };
}

const linesHeaders = { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' };

/**
 * Answers GET and HEAD of a folder with a page. `?rows=lines` returns only the rows for the page's script; `?rows=all` returns the page
 * with all rows. A client that may upload but not list gets the upload page with status 403, whether or not the folder exists.
 */
export async function sendHtmlListing(exchange: Exchange): Promise<Response> {
  const { path, files } = exchange;
  const context = makePageContext(exchange);
  let unreadableNames = 0;
  let batches: EntryBatches | undefined;
  try {
    batches = files.openListing(path, () => unreadableNames++);
  } catch (error) {
    if (!isServiceError(error, 'forbidden') || !files.may(path, 'createFile')) throw error;
  }
  const query = new URLSearchParams(exchange.target.query);
  const { flash, clearLine } = takeFlash(exchange, context.language, allowedTriggers(exchange));
  const { order, line: orderLine } = readOrder(exchange, query);
  const { view, line: viewLine } = readView(exchange);
  const about = exchange.visit && aboutLink(context, exchange.visit, downloadAll(context));
  const folder = { ...folderModel(exchange, flash), about };
  // Visitors of a link get none of these cookies.
  const lines = exchange.visit ? [] : [clearLine, ...(batches ? [orderLine, viewLine] : [])];
  const cookies = lines.filter((line) => line !== undefined);
  const headers = { ...pageHeaders(context), 'set-cookie': cookies.length > 0 ? cookies : undefined };
  if (!batches) return respond(exchange, { status: statusCodes.forbidden, headers, body: dropBoxPage(context, folder) });
  const askedPage = query.get('page') ?? '';
  const page = /^[1-9]\d{0,8}$/.test(askedPage) ? Number(askedPage) : 1;
  const asked = { entries: new SortedListing(batches, comparison(order, context.language.tag)), page };
  const rows = query.get('rows');
  if (rows === 'lines') return sendChunks(exchange, linesHeaders, listingLines(asked));
  query.set('rows', 'all');
  const model = {
    ...folder,
    ...asked,
    unreadableNames: () => unreadableNames,
    order,
    view,
    // A page without all rows redirects browsers without scripts to `wholeUrl`, where the message would be lost.
    isWhole: rows === 'all' || flash !== undefined,
    wholeUrl: `?${query}`,
    ...memberRights(exchange),
    triggers: allowedTriggers(exchange),
  };
  return sendChunks(exchange, headers, listingPage(context, model));
}

export interface AskedSearch {
  text: string;
  /** Whether the search covers all files of the account, not only the files of the folder. */
  isEverywhere: boolean;
  top: VirtualPath;
}

/**
 * Answers GET of a search below a folder. The reply is a page that grows during the search. If a script sent the request, the page has no
 * results, because the script requests the results separately as lines of JSON.
 */
export async function sendSearchPage(exchange: Exchange, asked: AskedSearch): Promise<Response> {
  const { path } = exchange;
  const { text, top } = asked;
  const context = makePageContext(exchange);
  const { language } = context;
  const isForScript = header(exchange, 'x-requested-with') !== undefined;
  const marker = '<!--found-->';
  const title = language.text('searchFor', { text });
  const model = { ...folderModel(exchange, undefined), ...memberRights(exchange) };
  const columns = (['name', 'size', 'modified', 'inFolder'] as const).map(
    (name) => html`<th role="columnheader" data-sort="${name}">${language.text(name)}</th>`,
  );
  const body = html`<main id="main" data-may="${rightNames(context, model)}" data-taken="${model.onNameTaken}"${limitsData(model)}>
${folderHead(context, model)}
${tools(context, model, searchForm(context, path, asked))}
<form id="members" tabindex="-1" method="post" enctype="multipart/form-data" autocomplete="off">
<div class="found-head"><h2>${new Html(nameHtml(title))}</h2><a class="button quiet" href="${memberUrlPath(path, true)}" title="${language.text('clearSearch')}">${icon('close')}<span class="wide">${language.text('clearSearch')}</span></a></div>
<table class="found placed" role="table" aria-label="${title}" data-text="${text}"${isForScript && html` data-pending`}>
<thead role="rowgroup"><tr role="row"><th role="columnheader" class="check"><span class="hidden">${language.text('select')}</span></th>${columns}</tr></thead>
<tbody role="rowgroup">${new Html(marker)}
${memberActions(context, { mayDelete: model.mayDelete, triggers: [] })}
</form>
</main>`;
  const page = layout(context, { title, body, hasScript: true });
  if (isForScript) return respond(exchange, { status: 200, headers: pageHeaders(context), body: page.replace(marker, '</tbody></table>') });
  const [before = '', after = ''] = page.split(marker);
  // The beginning of the page is sent immediately, while the search continues.
  return sendChunks(exchange, pageHeaders(context), foundChunks(context, before, exchange.files.search(top, text), { ...asked, after }), {
    startsAfter: 1,
  });
}

async function* foundChunks(
  context: PageContext,
  before: string,
  found: Search,
  { after, ...asked }: AskedSearch & { after: string },
): AsyncGenerator<string> {
  yield before;
  let count = 0;
  for await (const batch of found) {
    count += batch.length;
    yield batch.map((entry) => line(context, entry, asked.text).text).join('');
  }
  yield `</tbody></table>${searchEnd(context, count, asked, found.isTruncated).text}${after}`;
}

function searchEnd({ language }: PageContext, count: number, { text, top }: AskedSearch, isTruncated: boolean): Html {
  const rest = isTruncated && html`<p class="notice">${language.text('searchTruncated')}</p>`;
  if (count > 0) return html`<p class="count" id="count">${language.text('found', { count })}</p>${rest}`;
  return html`<div class="empty closed" id="count">${icon('search')}<p class="lead">${new Html(nameHtml(language.text('nothingFound', { text })))}</p>
<p class="hint">${language.text(top === '/' ? 'nothingFoundAtTop' : 'nothingFoundHint')}</p></div>${rest}`;
}

function line({ language }: PageContext, { path, name, isFolder, sizeBytes, modifiedMs }: FoundEntry, text: string): Html {
  const folder = parentPath(path);
  const place = folder === '/' ? language.text('files') : folder;
  return html`<tr role="row"><td role="cell"></td><td role="cell"><a class="i ${isFolder ? 'folder' : fileIconClasses(name)}" href="${memberUrlPath(path, isFolder)}">${marked(name, text)}</a></td>\
<td role="cell" data-size="${sizeBytes}">${isFolder ? html`<span class="hidden">${language.text('folder')}</span>` : language.size(sizeBytes)}</td>\
<td role="cell" data-time="${Math.floor(modifiedMs / 1000)}">${language.date(modifiedMs)} UTC</td>\
<td role="cell"><a href="${memberUrlPath(folder, true)}">${bdi(place)}</a></td></tr>
`;
}

/** Renders a name. If it contains the searched text, ignoring case, that part is highlighted. */
function marked(name: string, text: string): Html {
  const at = name.toLowerCase().indexOf(text.toLowerCase());
  if (at < 0 || name.toLowerCase().length !== name.length) return bdi(name);
  const end = at + text.length;
  return html`<bdi>${new Html(nameHtml(name.slice(0, at)))}<mark>${new Html(nameHtml(name.slice(at, end)))}</mark>${new Html(nameHtml(name.slice(end)))}</bdi>`;
}
