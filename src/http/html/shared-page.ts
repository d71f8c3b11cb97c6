import type { Grant } from '../../auth/grants/grant.ts';
import { ServiceError } from '../../lib/errors.ts';
import { bdi, type Html, html, icon } from '../../lib/html.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { baseName, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import type { Exchange } from '../request/exchange.ts';
import { readSmallForm } from '../request/request-body.ts';
import { accountPage, folderHtml, formLimitBytes, questionPage, selectionList } from './account-page.ts';
import { flashRedirect, takeFlash } from './page-cookies.ts';
import { pageContextOf, pageReply } from './page-replies.ts';
import type { PageContext } from './pages/page.ts';

const sharedUrl = '/home/__svc__/links';

/** Answers GET of the page of the links that an account created (docs/spec/links.md#lists). The page needs no scripts. */
export function showSharedPage(exchange: Exchange, links: readonly Grant[]): Promise<Response> {
  const context = pageContextOf(exchange);
  const { language } = context;
  const { flash, clearLine } = takeFlash(exchange, language);
  const title = language.text('shared');
  const content = selectionList(context, {
    url: sharedUrl,
    tools: html`<button name="action" value="confirm-revoke">${icon('close')}${language.text('revoke')}</button>`,
    hint: html`<p class="hint">${language.text('sharedHint')}</p>`,
    items: links.map((link) => linkItem(context, link)),
    count: links.length,
    none: { icon: 'share', text: language.text('sharedNone') },
  });
  const body = accountPage(context, { url: sharedUrl, title, flash, content });
  return respond(exchange, pageReply(context, 200, { title, body, hasScript: true }, { 'set-cookie': clearLine }));
}

function linkItem(context: PageContext, grant: Grant): Html {
  const { language } = context;
  const { id, link, name, expiresMs, downloads = 0, used } = grant;
  const limit = link?.maximumDownloads;
  const isDrop = link?.kind === 'drop';
  const facts = [
    language.text(isDrop ? 'kindDrop' : 'kindDownload'),
    language.text('untilDate', { date: language.date(expiresMs) }),
    ...(link?.passwordHash === undefined ? [] : [language.text('hasPassword')]),
    ...(isDrop ? [] : [limit === undefined ? language.text('usedDownloads', { count: downloads }) : usedOf(context, downloads, limit)]),
    ...(used ? [language.text('lastUsed', { date: language.date(used.atMs) })] : []),
  ];
  return html`<li>
<label><input type="checkbox" name="selected" value="${id}"> ${nameOf(context, grant)}</label>
<p class="hint">${folderHtml(context, parentPath(pathOf(grant)))} &middot; ${facts.join(' · ')}</p>
${name !== '' && html`<p class="hint" dir="auto">${name}</p>`}
</li>
`;
}

function usedOf({ language }: PageContext, count: number, total: number): string {
  return language.text('usedOf', { count, total });
}

function pathOf({ paths }: Grant): VirtualPath {
  return paths?.[0] ?? ('/' as VirtualPath);
}

function nameOf({ language }: PageContext, grant: Grant): Html {
  const name = baseName(pathOf(grant));
  const isFolder = grant.link?.kind === 'drop' || name === '';
  return html`<span class="i ${isFolder ? 'folder' : fileIconClasses(name)}">${name === '' ? language.text('files') : bdi(name)}</span>`;
}

/** Functions that act on the account's links. */
export interface SharedActions {
  own(): Promise<Grant[]>;
  /** @returns the number of revoked links */
  revoke(ids: readonly string[]): Promise<number>;
}

/** Answers POST of a form of that page. It asks for confirmation, then revokes the links. */
export async function postSharedForm(exchange: Exchange, actions: SharedActions): Promise<Response> {
  const fields = await readSmallForm(exchange, formLimitBytes);
  const wanted = new Set(fields.getAll('selected'));
  if (wanted.size === 0) throw new ServiceError('nothing-selected', 'No members are selected.');
  const selected = (await actions.own()).filter(({ id }) => wanted.has(id));
  switch (fields.get('action')) {
    case 'confirm-revoke':
      return respond(exchange, revokeQuestion(pageContextOf(exchange), selected));
    case 'revoke': {
      const count = await actions.revoke(selected.map(({ id }) => id));
      return respond(exchange, flashRedirect(sharedUrl, 'revoked', count));
    }
    default:
      throw new ServiceError('bad-request', `The action "${fields.get('action') ?? ''}" is not known.`);
  }
}

function revokeQuestion(context: PageContext, links: readonly Grant[]): Reply {
  const { language } = context;
  return questionPage(context, {
    url: sharedUrl,
    title: language.text('revoke'),
    question: language.text('revokeQuestion', { count: links.length }),
    items: links.map((link) => html`${nameOf(context, link)} <span class="hint">${folderHtml(context, parentPath(pathOf(link)))}</span>`),
    warning: language.text('revokeWarning'),
    action: 'revoke',
    ids: links.map(({ id }) => id),
    button: html`${language.text('revoke')}`,
    isDangerous: true,
  });
}
