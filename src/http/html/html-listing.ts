import { type HttpContext, pathOf } from '../environment.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { clientOf } from '../request/exchange.ts';
import { inOrder, listingOrderOf } from '../rest/requested-order.ts';
import { triggersOf } from '../rest/triggers.ts';
import { takeFlash } from './flash.ts';
import { accountOfPage, pageContextOf } from './page-replies.ts';
import { listingPage } from './pages/listing-page.ts';
import { pageHeaders } from './pages/page-headers.ts';

/** GET and HEAD of a folder as a page. */
export async function sendHtmlListing(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const { files } = clientOf(exchange);
  const context = pageContextOf(exchange);
  const { flash, clearCookie } = takeFlash(exchange, context.language);
  const { order, cookie } = listingOrderOf(exchange);
  const model = {
    path,
    entries: inOrder(files.openListing(path), order, context.language.tag),
    order,
    account: accountOfPage(exchange),
    mayRead: files.may(path, 'readFile'),
    mayWrite: files.may(path, 'writeFile'),
    mayCreateFolder: files.may(path, 'createFolder'),
    mayDelete: files.may(path, 'deleteMember'),
    mayRename: files.may(path, 'rename'),
    metadata: exchange.service.options.metadata_fields,
    triggers: triggersOf(exchange),
    flash,
  };
  const cookies = [clearCookie, cookie].filter((line) => line !== undefined);
  const headers = { ...pageHeaders(), 'set-cookie': cookies.length > 0 ? cookies : undefined };
  return sendChunks(c, headers, listingPage(context, model));
}
