import { type HttpContext, pathOf } from '../environment.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { clientOf } from '../request/exchange.ts';
import { accountOfPage, pageContextOf } from './page-replies.ts';
import { pageHeaders } from './pages/page-headers.ts';
import { searchPage } from './pages/search-page.ts';

/** GET of what a search of a folder and all below it finds, as a page that grows while it goes on. */
export function sendSearchPage(c: HttpContext, text: string): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const found = clientOf(exchange).files.search(path, text);
  return sendChunks(c, pageHeaders(), searchPage(pageContextOf(exchange), { path, text, found, account: accountOfPage(exchange) }));
}
