import type { ErrorCode, Problem } from '../../lib/errors.ts';
import { statusTitle } from '../reply/error-reply.ts';
import type { Reply, ReplyHeaders } from '../reply/reply.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { reservedName, urlPathOf } from '../request/request-target.ts';
import { appearanceOf } from './appearance.ts';
import { languageOf, themeOf } from './page-cookies.ts';
import { Html, html, nameHtml } from './pages/html.ts';
import { layout, type PageModel } from './pages/layout.ts';
import type { PageTextName } from './pages/locales/language.ts';
import { type PageContext, pageHeaders } from './pages/page.ts';
import { problemWords } from './problem-message.ts';

/** What a page with one message says. */
interface MessageModel {
  status: number;
  /** The standard name of the status, for those that have no text of their own. */
  statusTitle: string;
  problem?: Problem | undefined;
  /** What went wrong with each target, instead of one problem. */
  results?: readonly { target: string; problem: Problem }[] | undefined;
  refreshTo?: string | undefined;
  /** Folder whose form led here. */
  backTo?: string | undefined;
  account?: PageModel['account'];
}

const titles: Readonly<Record<number, PageTextName>> = {
  302: 'signIn',
  400: 'error400',
  401: 'error401',
  403: 'error403',
  404: 'error404',
  405: 'error405',
  409: 'error409',
  412: 'error412',
  413: 'error413',
  422: 'error422',
  429: 'error429',
  500: 'error500',
  503: 'error503',
  507: 'error507',
};

/** What says more of a problem than its few words do, and stands in their place. */
const explanations: Partial<Readonly<Record<ErrorCode, PageTextName>>> = {
  forbidden: 'explain403',
  'not-found': 'explain404',
  'nothing-selected': 'selectFirst',
  'too-many-requests': 'explain429',
};

/** A page with one message, for errors and redirects. */
function messagePage(context: PageContext, model: MessageModel): string {
  const { language } = context;
  const titleName = titles[model.status];
  const title = titleName === undefined ? model.statusTitle : language.text(titleName);
  const explanation = model.problem && explanations[model.problem.code];
  const body = html`<main class="card message" id="main">
${model.status >= 400 && html`<p class="status" aria-hidden="true">${model.status}</p>`}
<h1>${title}</h1>
${explanation !== undefined && html`<p>${language.text(explanation)}</p>`}
${model.problem && explanation === undefined && html`<p class="detail">${words(context, model.problem)}</p>`}
${model.status === 302 && html`<p>${language.text('signInNeeded')}</p>`}
${model.results && resultList(context, model.results)}
<p>${goOn(context, model)}</p>
</main>`;
  return layout(context, { title, body, refreshTo: model.refreshTo, account: model.account });
}

/** A problem in the reader's language, what is English in it marked as such. */
function words({ language }: PageContext, problem: Problem): Html {
  const { translated, own } = problemWords(language.tag, problem);
  const known = [problem.relativePath, translated].filter((part) => part !== undefined);
  const english = own === undefined ? [] : [language.tag === 'en' ? nameHtml(own) : `<span lang="en">${nameHtml(own)}</span>`];
  return new Html([...known.map(nameHtml), ...english].join(': '));
}

function resultList(context: PageContext, results: NonNullable<MessageModel['results']>) {
  const items = results.map(
    ({ target, problem }) => html`<li><bdi>${new Html(nameHtml(target))}</bdi> <span class="hint">${words(context, problem)}</span></li>`,
  );
  return html`<ul class="doomed">${items}</ul>`;
}

function goOn({ language }: PageContext, { refreshTo, backTo }: MessageModel) {
  const label = refreshTo !== undefined ? 'goOn' : backTo !== undefined ? 'backToFolder' : 'toFiles';
  return html`<a class="button primary" href="${refreshTo ?? backTo ?? '/home/'}">${language.text(label)}</a>`;
}

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
