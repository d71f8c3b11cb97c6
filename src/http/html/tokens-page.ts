import type { Account } from '../../accounts/account.ts';
import type { Grant } from '../../auth/grants/grant.ts';
import type { MadeGrant } from '../../auth/grants/grants.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { bdi, escapeFormValue, Html, html, icon } from '../../lib/html.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { statusCodes } from '../reply/error-reply.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { accountPage, factsHtml, itemButton, labelsHtml, questionPage, readForm, selectionTable } from './account-page.ts';
import { flashRedirect } from './page-cookies.ts';
import { makePageContext, pageReply, words } from './page-replies.ts';
import { assetPaths } from './pages/assets.ts';
import type { PageTextName } from './pages/locales/language.ts';
import { type PageContext, phraseWithTime } from './pages/page.ts';

const tokensUrl = '/home/__svc__/tokens';

/** The form's choices for how long a replaced token stays valid, in seconds. */
const overlaps: readonly { seconds: number; text: PageTextName }[] = [
  { seconds: 0, text: 'overlapNone' },
  { seconds: 3600, text: 'overlapHour' },
  { seconds: 86_400, text: 'overlapDay' },
  { seconds: 7 * 86_400, text: 'overlapWeek' },
];

/** The actions of the page's forms. Each action checks the rights of the client that sent the form. */
interface TokenActions {
  own(): Promise<Grant[]>;
  make(order: Record<string, unknown>): Promise<MadeGrant>;
  rotate(id: string, overlapS: number): Promise<MadeGrant>;
  /** @returns the number of revoked tokens and links, including those that were created with a revoked token */
  revoke(ids: readonly string[]): Promise<number>;
}

/** Answers GET of the page with an account's tokens (docs/spec/tokens.md#page). The page needs no scripts. */
export function showTokensPage(exchange: Exchange, tokens: readonly Grant[]): Promise<Response> {
  return respond(exchange, tokensPage(exchange, tokens));
}

/** @param refused the fields of a refused form, which the page shows again, and the reason for the refusal */
function tokensPage(exchange: Exchange, tokens: readonly Grant[], refused?: { fields: URLSearchParams; problem: ServiceError }): Reply {
  const context = makePageContext(exchange);
  const { language } = context;
  const { account } = signedIn(exchange);
  const title = language.text('tokens');
  const hint = html`<p class="hint">${language.text('tokensHint')}</p>`;
  const list = selectionTable(exchange, context, {
    url: tokensUrl,
    title,
    actions: html`${itemButton('replace', language.text('rotate'), 'key')}
${itemButton('confirm-revoke', language.text('revoke'))}`,
    hint,
    items: tokens.map((token) => tokenItem(exchange, context, token)),
    heads: { about: language.text('linkUse'), hasWords: true, time: language.text('validUntil') },
    none: { icon: 'key', text: language.text('tokensNone') },
  });
  const content = html`${tokens.length === 0 && list}
<details class="new"${refused !== undefined && html` open`}>
<summary><span class="button primary">${icon('plus')}${language.text('newToken')}</span><strong class="shut">${language.text('newToken')}${icon('close')}</strong></summary>
${refused && html`<p class="notice error" role="alert">${words(context, refused.problem)}</p>`}
${tokenForm(exchange, context, account, refused?.fields)}
</details>${tokens.length > 0 && list}`;
  return accountPage(exchange, context, { url: tokensUrl, title, content }, refused && statusCodes[refused.problem.code]);
}

/** Returns the services that a token can be limited to; an empty list if there is only one. */
function offeredServices({ service }: Exchange, { tokens }: Account): { uuid: string; name: string }[] {
  const offered = service.fileServices.filter(({ uuid }) => !tokens.services || tokens.services.includes(uuid));
  return offered.length > 1 ? offered : [];
}

function tokenItem({ service }: Exchange, context: PageContext, token: Grant) {
  const { language } = context;
  const { id, createdMs, notBeforeMs, expiresMs, services, addresses, permissions, used } = token;
  const nameOf = (uuid: string) => service.fileServices.find((one) => one.uuid === uuid)?.name ?? uuid;
  const rights = permissions === undefined ? language.text('rightsAll') : rightsText(context, permissions);
  const facts = factsHtml([
    notBeforeMs !== undefined && notBeforeMs > createdMs && phraseWithTime(context, 'validFrom', notBeforeMs),
    addresses !== undefined && language.text('tokenFrom', { addresses: addresses.join(', ') }),
    services !== undefined && language.text('tokenAt', { services: services.map(nameOf).join(', ') }),
    used ? phraseWithTime(context, 'lastUsedFrom', used.atMs, { address: used.address }) : language.text('unused'),
    phraseWithTime(context, 'linkCreated', createdMs),
  ]);
  const named = { label: labelOf(context, token), place: pathsCell(context, token) };
  const about = labelsHtml([html`${rights}`], facts);
  return { id, named, path: '/' as VirtualPath, isFolder: false, about, timeMs: expiresMs, until: language.text('until') };
}

function pathsCell({ language }: PageContext, { paths }: Grant): Html {
  if (!paths) return html`${language.text('tokenAll')}`;
  return html`${paths.map((path, index) => html`${index > 0 && ', '}${bdi(path)}`)}`;
}

/** Answers POST of a form on the page with tokens. Creates a token, or asks for confirmation before it replaces or revokes tokens. */
export async function postTokensForm(exchange: Exchange, actions: TokenActions): Promise<Response> {
  const fields = await readForm(exchange);
  if (fields.get('action') === 'create') return respond(exchange, await create(exchange, fields, actions));
  const replaced = fields.get('action') === 'replace' ? fields.get('selected') : fields.get('rotate');
  const wanted = new Set(replaced === null ? fields.getAll('selected') : [replaced]);
  if (wanted.size === 0) throw new ServiceError('nothing-selected', 'No tokens are selected.');
  const selected = (await actions.own()).filter(({ id }) => wanted.has(id));
  const context = makePageContext(exchange);
  const [first] = selected;
  if (fields.getAll('selected').length > 1 && replaced !== null)
    throw new ServiceError('bad-request', 'Only one token can be replaced at a time.');
  if (!first) throw new ServiceError('not-found', 'There is no such token.');
  if (replaced !== null) return respond(exchange, rotateQuestion(context, first));
  switch (fields.get('action')) {
    case 'confirm-revoke':
      return respond(exchange, revokeQuestion(context, selected));
    case 'revoke': {
      const count = await actions.revoke(selected.map(({ id }) => id));
      return respond(exchange, flashRedirect(tokensUrl, 'tokensRevoked', count));
    }
    case 'rotate': {
      const overlap = overlaps.find(({ seconds }) => String(seconds) === fields.get('overlap'))?.seconds ?? 0;
      return respond(exchange, secretPage(context, await actions.rotate(first.id, overlap)));
    }
    default:
      throw new ServiceError('bad-request', `The action "${fields.get('action') ?? ''}" is not known.`);
  }
}

async function create(exchange: Exchange, fields: URLSearchParams, actions: TokenActions): Promise<Reply> {
  try {
    return secretPage(makePageContext(exchange), await actions.make(formOrder(fields)));
  } catch (error) {
    if (!isServiceError(error) || statusCodes[error.code] >= 500) throw error;
    return tokensPage(exchange, await actions.own(), { fields, problem: error });
  }
}

/** Renders the only page that shows the secret. The secret is not stored anywhere. */
function secretPage(context: PageContext, { grant, secret }: MadeGrant): Reply {
  const { language } = context;
  const body = html`<div id="notices" aria-live="polite"></div>
<main class="card roomy" id="main">
<h1>${language.text('tokenReady')}</h1>
<div id="members" tabindex="-1"><p>${phraseWithTime(context, 'tokenOnce', grant.expiresMs)}</p>
<label for="secret">${language.text('tokenSecret')}${language.text('colon')}${bdi(labelOf(context, grant))}</label>
<input id="secret" value="${secret}" readonly data-copy autocomplete="off" spellcheck="false">
<p class="row"><a class="button" href="${tokensUrl}">${language.text('toTokens')}</a></p></div>
</main>`;
  return pageReply(context, 201, { title: language.text('tokenReady'), body, hasScript: true }, { location: `${tokensUrl}/${grant.id}` });
}

function rotateQuestion(context: PageContext, token: Grant): Reply {
  const { language } = context;
  return questionPage(context, {
    url: tokensUrl,
    title: language.text('rotate'),
    question: language.text('rotateQuestion'),
    items: [tokenName(context, token)],
    warning: language.text('rotateHint'),
    fields: html`<label for="overlap">${language.text('overlap')}</label>
<select id="overlap" name="overlap">${overlaps.map(({ seconds, text }) => html`<option value="${seconds}">${language.text(text)}</option>`)}</select>`,
    action: 'rotate',
    ids: [token.id],
    isHarmless: true,
  });
}

function revokeQuestion(context: PageContext, tokens: readonly Grant[]): Reply {
  const { language } = context;
  return questionPage(context, {
    url: tokensUrl,
    title: language.text('revoke'),
    question: language.text('revokeTokens', { count: tokens.length }),
    items: tokens.map((token) => tokenName(context, token)),
    warning: language.text('revokeTokensWarning', { count: tokens.length }),
    action: 'revoke',
    ids: tokens.map(({ id }) => id),
  });
}

function labelOf({ language }: PageContext, { name }: Grant): string {
  return name || language.text('tokenUnnamed');
}

function tokenName(context: PageContext, token: Grant): Html {
  return html`${bdi(labelOf(context, token))} <span class="hint">${pathsCell(context, token)}</span>`;
}

/** Lifetimes in days. The form offers the account's maximum, and the lifetimes in this list that are shorter than the maximum. */
const offeredDays = [1, 7, 30, 90, 365];

/** The permissions, in the order in which the form offers them. The user chooses each one separately. */
const rightTexts = {
  'allow-read': 'mayRead',
  'allow-list': 'mayList',
  'allow-traverse': 'mayTraverse',
  'allow-write': 'mayWrite',
  'allow-create-file': 'mayCreateFile',
  'allow-create-folder': 'mayCreateFolder',
  'allow-rename': 'mayRename',
  'allow-delete-file': 'mayDeleteFile',
  'allow-delete-folder': 'mayDeleteFolder',
  'allow-set-attributes': 'maySetAttributes',
  'allow-share': 'mayShare',
  'allow-create-token': 'mayCreateToken',
} as const satisfies Record<string, PageTextName>;

type Right = keyof typeof rightTexts;

/** The permissions of a token that can only read. */
const readRights: readonly Right[] = ['allow-read', 'allow-list', 'allow-traverse'];

function rightsText({ language }: Pick<PageContext, 'language'>, keywords: readonly string[]): string {
  return keywords.map((keyword) => (keyword in rightTexts ? language.text(rightTexts[keyword as Right]) : keyword)).join(', ');
}

/** Renders the form for a new token. The user chooses the token's rights: only reading, all rights of the account, or some of these. */
function tokenForm(exchange: Exchange, { language }: PageContext, account: Account, fields?: URLSearchParams): Html {
  const typed = (name: string) => new Html(escapeFormValue(fields?.get(name) ?? ''));
  const rights = (Object.keys(rightTexts) as Right[]).filter((keyword) => account.permissions.mayGive(keyword));
  const mayRead = readRights.every((right) => rights.includes(right));
  // Unless a refused form says otherwise, a new token has the fewest rights.
  const isChosen = (name: string, value: string) =>
    fields ? fields.getAll(name).includes(value) : value === (mayRead ? 'read' : 'chosen');
  const chosen = (name: string, value: string) => isChosen(name, value) && html` checked`;
  const box = (name: string, value: string, label: Html | string, type: 'checkbox' | 'radio' = 'checkbox') =>
    html`<label class="line"><input type="${type}" name="${name}" value="${value}"${chosen(name, value)}${type === 'radio' && html` required`}> ${label}</label>
`;
  const services = offeredServices(exchange, account);
  const longest = account.tokens.maximum_days;
  const lives = [...new Set([...offeredDays.filter((days) => days < longest), longest])];
  const life = Number(fields?.get('days') ?? Math.min(90, longest));
  return html`<link rel="stylesheet" href="${assetPaths.tokensStyle}"><form class="fields" method="post" action="${tokensUrl}">
<label for="name">${language.text('tokenName')}</label>
<input id="name" name="name" required maxlength="200" autocomplete="off" value="${typed('name')}">
<label for="path">${language.text('tokenPaths')}</label>
<textarea id="path" name="path" rows="2" spellcheck="false" autocapitalize="none">${typed('path')}</textarea>
<fieldset class="rights"><legend>${language.text('tokenRights')}</legend>
${mayRead && box('rights', 'read', language.text('rightsRead'), 'radio')}${box('rights', 'all', language.text('rightsAll'), 'radio')}<p class="hint">${rightsText({ language }, rights)}</p>
${box('rights', 'chosen', language.text('rightsChosen'), 'radio')}</fieldset>
<fieldset class="those" aria-label="${language.text('rightsChosen')}">${rights.map((keyword) => box('permissions', keyword, language.text(rightTexts[keyword])))}</fieldset>
${
  services.length > 0 &&
  html`<fieldset><legend>${language.text('tokenServices')}</legend>
${services.map(({ uuid, name }) => box('services', uuid, bdi(name)))}</fieldset>`
}
<label for="addresses">${language.text('tokenAddresses')}</label>
<textarea id="addresses" name="addresses" rows="2" spellcheck="false" autocapitalize="none" placeholder="192.0.2.0/24">${typed('addresses')}</textarea>
<label for="days">${language.text('tokenLife')}</label>
<select id="days" name="days">${lives.map((days) => html`<option value="${days}"${days === life && html` selected`}>${language.text('lifeDays', { count: days })}</option>`)}</select>
<p class="row"><button type="submit" class="primary" name="action" value="create">${language.text('createToken')}</button></p>
</form>`;
}

/** Converts the fields of the form to the JSON body of the REST API. @throws ServiceError `nothing-selected` if no right is chosen */
function formOrder(fields: URLSearchParams): Record<string, unknown> {
  const kind = fields.get('rights');
  const lines = (name: string) => some((fields.get(name) ?? '').split(/\r\n|\r|\n/).filter((line) => line.trim() !== ''));
  const list = (name: string) => some(fields.getAll(name));
  const permissions = kind === 'all' ? undefined : kind === 'read' ? readRights : list('permissions');
  if (kind === 'chosen' && !permissions) throw new ServiceError('nothing-selected', 'Choose at least one right for the token.');
  return {
    name: fields.get('name')?.trim() ?? '',
    path: lines('path'),
    permissions,
    services: list('services'),
    addresses: lines('addresses')?.map((line) => line.trim()),
    expires: Number(fields.get('days')) * 86_400,
  };
}

const some = (items: string[]) => (items.length > 0 ? items : undefined);
