import { statusTitle } from './error-reply.ts';
import type { Exchange } from './exchange.ts';
import { pageContextOf } from './page-context.ts';
import { type LoginModel, loginPage } from './pages/login-page.ts';
import { messagePage } from './pages/message-page.ts';
import { pageHeaders } from './pages/page-headers.ts';
import type { Reply, ReplyHeaders } from './reply.ts';

/** The login page as a reply. */
export function loginPageReply(exchange: Exchange, model: LoginModel & { status: number }): Reply {
  return { status: model.status, headers: pageHeaders(), body: loginPage(pageContextOf(exchange), model) };
}

/** A page with a message; with `refreshTo` the browser goes on there. */
export function messagePageReply(
  exchange: Exchange,
  status: number,
  message: string,
  headers: ReplyHeaders = {},
  refreshTo?: string,
): Reply {
  const context = pageContextOf(exchange);
  const isForm = exchange.method === 'POST' && exchange.target.kind === 'member';
  const model = { status, statusTitle: statusTitle(status), message, refreshTo, backTo: isForm ? context.url : undefined };
  return { status, headers: { ...pageHeaders(), ...headers }, body: messagePage(context, model) };
}
