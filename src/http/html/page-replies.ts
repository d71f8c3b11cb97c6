import type { Problem } from '../../lib/errors.ts';
import { statusTitle } from '../reply/error-reply.ts';
import type { Reply, ReplyHeaders } from '../reply/reply.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { reservedName, urlPathOf } from '../request/request-target.ts';
import { appearanceOf } from './appearance.ts';
import { languageOf, themeOf } from './choices.ts';
import { html } from './pages/html.ts';
import { layout } from './pages/layout.ts';
import { type MessageModel, messagePage } from './pages/message-page.ts';
import type { PageContext } from './pages/page-context.ts';
import { pageHeaders } from './pages/page-headers.ts';

/** What the login page shows. */
interface LoginModel {
  message?: string | undefined;
  next?: string | undefined;
  userName?: string | undefined;
}

/** The login page. */
function loginPage(context: PageContext, model: LoginModel): string {
  const text = context.language;
  const body = html`<main class="card" id="main">
<h1>${text.text('signIn')}</h1>
${model.message !== undefined && html`<p class="notice error" role="alert">${model.message}</p>`}
<form method="post" action="/__svc__/login">
${model.next !== undefined && html`<input type="hidden" name="next" value="${model.next}">`}
<label for="username">${text.text('userName')}</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required${!model.userName && html` autofocus`} value="${model.userName ?? ''}">
<label for="password">${text.text('password')}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${!!model.userName && html` autofocus`}>
<button type="submit" class="primary">${text.text('signIn')}</button>
</form>
</main>`;
  return layout(context, { title: text.text('signIn'), body });
}

/** What the pages need to know of the reader and of the service. */
export function pageContextOf(exchange: Exchange): PageContext {
  return {
    language: languageOf(exchange),
    theme: themeOf(exchange),
    appearance: appearanceOf(exchange.service.options.appearance),
    url: urlOf(exchange),
  };
}

/** Pages below `/home/__svc__/`. */
const accountPages = ['password-update', 'recent'];

/** Where a page is found by GET, for forms that lead back to it. */
function urlOf({ target }: Exchange): string {
  if (target.kind === 'member') return urlPathOf(target.path, target.isFolder) + target.query;
  if (target.kind === 'account-service' && accountPages.includes(target.name)) return `/home/${reservedName}/${target.name}`;
  const isOwn = target.kind === 'service' && (target.name === 'login' || target.name === 'openapi.html');
  return isOwn ? `/__svc__/${target.name}${target.query}` : '/home/';
}

/** What the head of a page says of the account that is signed in. */
export function accountOfPage(exchange: Exchange) {
  const { account, session } = clientOf(exchange);
  const { passwords } = exchange.service;
  return {
    name: account.name,
    isAnonymous: account.method.type === 'anonymous',
    hasSession: session !== undefined,
    maySeeRecent: account.showRecent && account.method.type !== 'anonymous',
    mayChangePassword: session !== undefined && account.allowOwnPasswordChange && passwords.isOwn(account.method.uuid),
  };
}

/** The login page as a reply. */
export function loginPageReply(exchange: Exchange, model: LoginModel & { status: number }): Reply {
  return { status: model.status, headers: pageHeaders(), body: loginPage(pageContextOf(exchange), model) };
}

/** What a page with a message says besides its status. */
interface Message {
  problem?: Problem;
  /** What went wrong with each target of a form. */
  results?: MessageModel['results'];
  headers?: ReplyHeaders;
  refreshTo?: string;
}

/** A page with a message; with `refreshTo` the browser goes on there. */
export function messagePageReply(exchange: Exchange, status: number, { problem, results, headers, refreshTo }: Message): Reply {
  const context = pageContextOf(exchange);
  const isForm = exchange.method === 'POST' && exchange.target.kind === 'member';
  const backTo = isForm ? context.url : undefined;
  const account = exchange.client && accountOfPage(exchange);
  const model = { status, statusTitle: statusTitle(status), problem, results, refreshTo, backTo, account };
  return { status, headers: { ...pageHeaders(), ...headers }, body: messagePage(context, model) };
}
