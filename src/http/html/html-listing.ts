import type { EntryBatches } from '../../files/operations/account-listing.ts';
import { SortedListing } from '../../files/operations/sorted-listing.ts';
import { isServiceError } from '../../lib/errors.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { statusOf } from '../reply/error-reply.ts';
import { respond } from '../reply/respond.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { clientOf } from '../request/exchange.ts';
import { comparisonOf, listingOrderOf } from '../rest/requested-order.ts';
import { triggersOf } from '../rest/triggers.ts';
import { viewOf } from './choices.ts';
import { takeFlash } from './flash.ts';
import { accountOfPage, pageContextOf } from './page-replies.ts';
import { dropBoxPage } from './pages/drop-box-page.ts';
import { listingPage } from './pages/listing/listing-page.ts';
import { listingLines } from './pages/listing/listing-rows.ts';
import { pageHeaders } from './pages/page-headers.ts';

/** Headers of the rows that the page's script fetches. */
const linesHeaders = { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' };

/**
 * GET and HEAD of a folder as a page; with `?rows=lines` the rows of it as its script takes them, with `?rows=all` all of them in it. Whoever may not see what is in it, but may write there, gets the page to upload: with the status of the
 * refusal, and the same whether or not the folder exists.
 */
export async function sendHtmlListing(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const { files } = clientOf(exchange);
  const context = pageContextOf(exchange);
  let unreadableNames = 0;
  let batches: EntryBatches | undefined;
  try {
    batches = files.openListing(path, () => unreadableNames++);
  } catch (error) {
    if (!isServiceError(error, 'forbidden') || !files.may(path, 'writeFile')) throw error;
  }
  const { flash, clearCookie } = takeFlash(exchange, context.language);
  const { order, cookie } = listingOrderOf(exchange);
  const { view, cookie: viewCookie } = viewOf(exchange);
  const folder = {
    path,
    account: accountOfPage(exchange),
    mayWrite: files.may(path, 'writeFile'),
    mayCreateFolder: files.may(path, 'createFolder'),
    metadata: exchange.service.options.metadata_fields,
    flash,
  };
  const cookies = [clearCookie, batches && cookie, batches && viewCookie].filter((line) => line !== undefined);
  const headers = { ...pageHeaders(), 'set-cookie': cookies.length > 0 ? cookies : undefined };
  if (!batches) return respond(c, { status: statusOf.forbidden, headers, body: dropBoxPage(context, folder) });
  const query = new URLSearchParams(exchange.target.query);
  const asked = { entries: new SortedListing(batches, comparisonOf(order, context.language.tag)), page: pageOf(query) };
  const rows = query.get('rows');
  if (rows === 'lines') return sendChunks(c, linesHeaders, listingLines(asked));
  query.set('rows', 'all');
  const model = {
    ...folder,
    ...asked,
    unreadableNames: () => unreadableNames,
    order,
    view,
    // What a form did is told once: where the reader stays.
    isWhole: rows === 'all' || flash !== undefined,
    wholeUrl: `?${query}`,
    mayRead: files.may(path, 'readFile'),
    mayDelete: files.may(path, 'deleteMember'),
    mayRename: files.may(path, 'rename'),
    triggers: triggersOf(exchange),
  };
  return sendChunks(c, headers, listingPage(context, model));
}

/** The page that a query asks for (`?page=2`), counted from 1; what is no such number counts for nothing. */
function pageOf(query: URLSearchParams): number {
  const page = query.get('page') ?? '';
  return /^[1-9]\d{0,8}$/.test(page) ? Number(page) : 1;
}
