import { statusTitle } from '../reply/error-reply.ts';
import type { Reply, ReplyHeaders } from '../reply/reply.ts';
import type { Exchange } from '../request/exchange.ts';
import { pageContextOf } from './page-context.ts';
import { type LoginModel, loginPage } from './pages/login-page.ts';
import { type MessageModel, messagePage } from './pages/message-page.ts';
import { pageHeaders } from './pages/page-headers.ts';

/** The login page as a reply. */
export function loginPageReply(exchange: Exchange, model: LoginModel & { status: number }): Reply {
  return { status: model.status, headers: pageHeaders(), body: loginPage(pageContextOf(exchange), model) };
}

/** What a page with a message says besides its status. */
interface Message {
  message?: string;
  /** What went wrong with each target of a form. */
  results?: MessageModel['results'];
  headers?: ReplyHeaders;
  refreshTo?: string;
}

/** A page with a message; with `refreshTo` the browser goes on there. */
export function messagePageReply(exchange: Exchange, status: number, { message = '', results, headers, refreshTo }: Message): Reply {
  const context = pageContextOf(exchange);
  const isForm = exchange.method === 'POST' && exchange.target.kind === 'member';
  const backTo = isForm ? context.url : undefined;
  const model = { status, statusTitle: statusTitle(status), message, results, refreshTo, backTo };
  return { status, headers: { ...pageHeaders(), ...headers }, body: messagePage(context, model) };
}
