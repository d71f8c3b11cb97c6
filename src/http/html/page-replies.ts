import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import { nameInText } from '../../lib/display-name.ts';
import { type ErrorCode, isServiceError, type Problem, ServiceError } from '../../lib/errors.ts';
import { bdi, Html, html, nameHtml } from '../../lib/html.ts';
import { baseName, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { statusTitle } from '../reply/error-reply.ts';
import { type DroppedFile, receiptQuery } from '../reply/receipt.ts';
import type { Reply, ReplyHeaders } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import type { Client, Exchange, HttpService } from '../request/exchange.ts';
import { isOfLink, linkUrlPath, memberUrlPath, reservedName } from '../request/request-target.ts';
import { preparedAppearance } from './appearance.ts';
import { readLanguage, readTheme } from './page-cookies.ts';
import { assetPaths } from './pages/assets.ts';
import { layout, type PageModel } from './pages/layout.ts';
import { searchForm } from './pages/listing/listing-tools.ts';
import type { PageTextName } from './pages/locales/language.ts';
import { apiPageHeaders, type PageAccount, type PageContext, pageHeaders, phraseWithTime } from './pages/page.ts';
import { problemWords } from './problem-message.ts';

/** Collects the data about the user and the service that every page needs. */
export function makePageContext(exchange: Exchange): PageContext {
  return {
    language: readLanguage(exchange),
    theme: readTheme(exchange),
    appearance: preparedAppearance(exchange.service.options.appearance),
    url: pageUrl(exchange),
    urlOf: (path, isFolder) => exchange.urlOf(path, isFolder),
    linked: linkedFolder(exchange),
    account: exchange.client && exchange.target.kind !== 'link' ? pageAccount(exchange.client, exchange.service) : undefined,
    showApiLink: exchange.service.options.show_api_link,
  };
}

/** For a page of a link, returns the linked file or folder; for an invalid link `/`, which reveals nothing. Undefined for other pages. */
function linkedFolder({ target, visit }: Exchange): PageContext['linked'] {
  if (!isOfLink(target)) return undefined;
  const root = visit?.root ?? ('/' as VirtualPath);
  return { root, name: baseName(root) };
}

/** Names of the pages below `/home/__svc__/`. */
const accountPages = ['expectations', 'held/', 'links', 'password-update', 'recent', 'tokens', 'trash'];

/** Returns the URL at which GET shows the page of this request, so that forms of the page can redirect to it. */
function pageUrl({ target }: Exchange): string {
  if (target.kind === 'member') return memberUrlPath(target.path, target.isFolder) + target.query;
  const page = target.kind === 'account-service' && accountPages.find((name) => name.split('/', 1)[0] === target.name);
  if (page) return `/home/${reservedName}/${page}`;
  if (target.kind === 'link') return linkUrlPath(target.secret, target.below, target.isFolder) + target.query;
  const isPublicPage = target.kind === 'service' && (target.name === 'login' || target.name === 'openapi.html');
  return isPublicPage ? `/__svc__/${target.name}${target.query}` : '/home/';
}

function pageAccount({ account, session }: Client, { passwords, chain }: HttpService): PageAccount {
  const isAnonymous = account.method.type === 'anonymous';
  // Links and tokens are not offered if all authentication methods of the service would refuse them.
  const mayGrant = !isAnonymous && chain.takesGrants(account);
  return {
    name: account.name,
    isAnonymous,
    hasSession: session !== undefined,
    hasTrash: account.trashDays > 0,
    isInspected: !account.inspections.isEmpty,
    hasQuota: account.quotaSizeBytes > 0,
    mayShare: mayGrant && account.links.enabled && account.permissions.mayGive('allow-share'),
    mayMakeTokens: mayGrant && account.tokens.enabled && account.permissions.mayGive('allow-create-token'),
    maySeeRecent: account.showRecent && !isAnonymous,
    maySeeDue: account.showExpectations && !isAnonymous,
    mayChangePassword: session !== undefined && account.allowOwnPasswordChange && passwords.isOwn(account.method.uuid),
  };
}

/** Builds the reply with a page. */
export function pageReply(context: PageContext, status: number, page: PageModel, headers?: ReplyHeaders): Reply {
  return { status, headers: { ...pageHeaders(context), ...headers }, body: layout(context, page) };
}

/** Data of the login page: why a login was refused, the page to open after the login, and the name that the user entered before. */
export interface LoginForm {
  message?: string | undefined;
  next?: string | undefined;
  userName?: string | undefined;
}

/** Builds the reply with the login page. */
export function loginPageReply(exchange: Exchange, status: number, { message, next, userName }: LoginForm, headers?: ReplyHeaders): Reply {
  const context = makePageContext(exchange);
  const { language } = context;
  const body = html`<main class="card" id="main">
<h1>${language.text('signIn')}</h1>
${message !== undefined && html`<p class="notice error" role="alert">${message}</p>`}
<form method="post" action="/__svc__/login">
${next !== undefined && html`<input type="hidden" name="next" value="${next}">`}
<label for="username">${language.text('userName')}</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required${!userName && html` autofocus`} value="${userName ?? ''}">
<label for="password">${language.text('password')}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${!!userName && html` autofocus`}>
<button type="submit" class="primary">${language.text('signIn')}</button>
</form>
</main>`;
  return pageReply(context, status, { title: language.text('signIn'), body }, headers);
}

/** Statuses that have a translated title. Others use the standard English title. */
const titledStatuses = [400, 401, 403, 404, 405, 409, 410, 412, 413, 422, 429, 500, 503, 507] as const;

/** Texts that replace the message of a problem, because they explain it better. */
const explanations: Partial<Readonly<Record<ErrorCode, PageTextName>>> = {
  forbidden: 'explain403',
  'not-found': 'explain404',
  'nothing-selected': 'selectFirst',
  'too-many-requests': 'explain429',
};

/** Like `explanations`, for pages of links, whose visitors have no account. */
const linkExplanations: typeof explanations = {
  'not-found': 'noLink',
  gone: 'linkOver',
  'nothing-selected': 'selectFirst',
  'too-many-requests': 'explain429',
};

interface Message {
  problem?: Problem;
  /** The problem of each failed target of a form; used instead of `problem`. */
  results?: readonly { target: string; problem: Problem }[];
  /** Files that a visitor's form uploaded successfully. */
  dropped?: readonly DroppedFile[];
  headers?: ReplyHeaders;
  refreshTo?: string;
}

/** Builds the reply with a message page, for errors and redirects. */
export function messagePageReply(exchange: Exchange, status: number, { problem, results, dropped, headers, refreshTo }: Message): Reply {
  const context = makePageContext(exchange);
  const { language } = context;
  const titled = titledStatuses.find((known) => known === status);
  const title = status === 302 ? language.text('signIn') : titled ? language.text(`error${titled}`) : statusTitle(status);
  const explanation = problem && (context.linked ? linkExplanations : explanations)[problem.code];
  const until = problem && waitingTime(exchange, context, problem);
  const isSentence = problem?.relativePath === undefined;
  // Translations have no full stop, because other places put them into longer sentences.
  const stop = problem && isSentence && problemWords(language.tag, problem).own === undefined && '.';
  // The script shows the time in the reader's time zone.
  const hasScript = until !== undefined;
  const body = html`${hasScript && html`<div id="notices" aria-live="polite"></div>`}
<main class="card message" id="main">
${status >= 400 && html`<p class="status" aria-hidden="true">${status}</p>`}
<h1>${title}</h1>
${explanation !== undefined && html`<p>${until ?? language.text(explanation)}</p>`}
${problem && explanation === undefined && html`<p class="detail${isSentence && ' sentence'}">${words(context, problem)}${stop}</p>`}
${status === 302 && html`<p>${language.text('signInNeeded')}</p>`}
${results && html`<ul class="doomed">${results.map(({ target, problem: its }) => html`<li>${bdi(target)} <span class="hint">${words(context, its)}</span></li>`)}</ul>`}
${until === undefined && problem?.code !== 'gone' && wayOn(exchange, context, refreshTo, dropped)}
${problem?.code === 'not-found' && !context.linked && exchange.client && html`<p class="hint">${language.text('searchAll')}</p>${searchForm(context, '/' as VirtualPath, { text: exchange.target.kind === 'member' ? baseName(exchange.target.path) : '', isEverywhere: false }, language.text('searchAll'))}`}
</main>`;
  return pageReply(context, status, { title, body, refreshTo, hasScript }, headers);
}

/** Renders the buttons of a message page. There are none for an invalid link, because its visitor has no page to go to. */
function wayOn(exchange: Exchange, context: PageContext, refreshTo: string | undefined, dropped: Message['dropped'] = []) {
  const { language, linked, url } = context;
  const isForm = exchange.method === 'POST' && (linked !== undefined || exchange.target.kind === 'member');
  if (linked && !exchange.visit) return undefined;
  const nearest = linked ? linked.root : nearestFolder(exchange);
  const to = refreshTo ?? (isForm && !linked ? url : context.urlOf(nearest, true));
  const goOn = refreshTo !== undefined ? 'goOn' : isForm ? 'backToFolder' : 'toFiles';
  const receipt =
    dropped.length > 0 &&
    html`<a class="button" href="${context.urlOf(nearest, true)}${receiptQuery(dropped)}">${language.text('receipt')}</a> `;
  return html`<p>${receipt}<a class="button primary" href="${to}">${goOn === 'toFiles' && nearest !== '/' && !linked ? language.text('toFolder', { name: nameInText(baseName(nearest)) }) : language.text(goOn)}</a></p>`;
}

/** Returns the nearest folder above the requested path that exists and that the account may list; `/` if there is none. */
function nearestFolder({ target, client }: Exchange): VirtualPath {
  let folder = target.kind === 'member' && client ? target.path : ('/' as VirtualPath);
  while (folder !== '/') {
    folder = parentPath(folder);
    if (client?.files.may(folder, 'listFolder') && inspect(client.files, folder)?.entry?.isFolder) break;
  }
  return folder;
}

/** Inspects a path. @returns undefined if the account may not inspect it */
export function inspect(files: AccountFiles, path: VirtualPath): { entry: Entry | undefined } | undefined {
  try {
    return { entry: files.inspect(path) };
  } catch (error) {
    if (isServiceError(error)) return undefined;
    throw error;
  }
}

/** If a client was refused for a limited time, describes when it may try again; undefined for other problems. */
function waitingTime({ service }: Exchange, { language }: PageContext, problem: Problem): Html | undefined {
  const seconds = problem instanceof ServiceError ? problem.details.retry_after_s : undefined;
  if (problem.code !== 'too-many-requests' || typeof seconds !== 'number') return undefined;
  const minutes = Math.max(1, Math.ceil(seconds / 60));
  return phraseWithTime({ language }, 'explain429Until', service.clock.nowMs() + minutes * 60_000, { count: minutes });
}

/** Describes a problem in the user's language. Parts without a translation are marked as English. */
export function words({ language }: PageContext, problem: Problem): Html {
  const { translated, own } = problemWords(language.tag, problem);
  const message = own && nameHtml(own).replace(/`([^`]+)`/g, '<code>$1</code>');
  const english = language.tag === 'en' || !message ? message : `<span lang="en">${message}</span>`;
  return new Html([...[problem.relativePath, translated].map((part) => part && nameHtml(part)), english].filter(Boolean).join(': '));
}

/**
 * Answers GET of the interactive API page. Swagger UI is part of the executable, so the page loads nothing from other sites. The header and
 * the menu are those of all pages.
 */
export function showOpenapiPage(exchange: Exchange): Promise<Response> {
  const head = html`<link rel="stylesheet" href="${assetPaths.swaggerStyle}">
<link rel="stylesheet" href="${assetPaths.frameStyle}">
<link rel="stylesheet" href="${assetPaths.apiStyle}">
<script src="${assetPaths.swaggerScript}" defer></script>
<script src="${assetPaths.apiScript}" defer></script>`;
  const body = html`<div id="api" lang="en"></div>
<noscript><p class="unscripted" lang="en">This page needs scripts. The description itself: <a href="/__svc__/openapi.yaml">openapi.yaml</a>.</p></noscript>`;
  return respond(exchange, pageReply(makePageContext(exchange), 200, { title: 'API', body, head }, apiPageHeaders()));
}
