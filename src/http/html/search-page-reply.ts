import { type HttpContext, pathOf } from '../environment.ts';
import { respond } from '../reply/respond.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { clientOf, header } from '../request/exchange.ts';
import { accountOfPage, pageContextOf } from './page-replies.ts';
import { pageHeaders } from './pages/page-headers.ts';
import { emptySearchPage, searchPage } from './pages/search-page.ts';

/**
 * GET of what a search of a folder and all below it finds, as a page that grows while it goes on. The script of a page, which would not see it grow, gets
 * it empty, and asks for lines of JSON to fill it.
 */
export async function sendSearchPage(c: HttpContext, text: string): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const context = pageContextOf(exchange);
  const model = { path, text, account: accountOfPage(exchange) };
  if (header(exchange, 'x-requested-with') !== undefined)
    return respond(c, { status: 200, headers: pageHeaders(), body: emptySearchPage(context, model) });
  // What is there before anything is found is shown while the search goes on.
  return sendChunks(c, pageHeaders(), searchPage(context, model, clientOf(exchange).files.search(path, text)), { startsAfter: 1 });
}
