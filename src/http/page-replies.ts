import { statusTitle } from './error-reply.ts';
import type { Exchange } from './exchange.ts';
import { loginPage } from './pages/login-page.ts';
import { messagePage } from './pages/message-page.ts';
import { pageHeaders } from './pages/page-headers.ts';
import type { Reply, ReplyHeaders } from './reply.ts';

/** The login page as a reply. */
export function loginPageReply(
  _exchange: Exchange,
  model: { status: number; message?: string | undefined; next?: string | undefined; userName?: string | undefined },
): Reply {
  return { status: model.status, headers: pageHeaders(), body: loginPage(model) };
}

/** A page with a message; with `refreshTo` the browser goes on there. */
export function messagePageReply(
  _exchange: Exchange,
  status: number,
  message: string,
  headers: ReplyHeaders = {},
  refreshTo?: string,
): Reply {
  return { status, headers: { ...pageHeaders(), ...headers }, body: messagePage({ title: statusTitle(status), message, refreshTo }) };
}
