import type { Grant } from '../../auth/grants/grant.ts';
import { ServiceError } from '../../lib/errors.ts';
import { html } from '../../lib/html.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { accountPage, factsHtml, itemButton, labelsHtml, placedName, questionPage, readForm, selectionTable } from './account-page.ts';
import { linkLimits } from './html-listing.ts';
import { flashRedirect } from './page-cookies.ts';
import { inspect, makePageContext } from './page-replies.ts';
import { type PageContext, phraseWithTime } from './pages/page.ts';

const sharedUrl = '/home/__svc__/links';

/** Answers GET of the page with the links that an account created (docs/spec/links.md#lists). The page needs no scripts. */
export function showSharedPage(exchange: Exchange, links: readonly Grant[]): Promise<Response> {
  const context = makePageContext(exchange);
  const { language } = context;
  const title = language.text('shared');
  const isOneOfMany = (link: Grant) => links.some((other) => other !== link && other.paths?.[0] === link.paths?.[0]);
  const content = selectionTable(exchange, context, {
    url: sharedUrl,
    title,
    actions: html`${itemButton('change', language.text('change'), 'rename')}
${itemButton('renew', language.text('newAddress'), 'share')}
${itemButton('confirm-revoke', language.text('revoke'))}`,
    hint: html`<p class="hint">${language.text('sharedHint')}</p>`,
    items: links.map((link) => linkItem(exchange, context, link, isOneOfMany(link))),
    heads: { about: language.text('linkUse'), hasWords: true, time: language.text('validUntil') },
    none: { icon: 'share', text: language.text('sharedNone') },
  });
  return respond(
    exchange,
    accountPage(exchange, context, { url: sharedUrl, title, content, share: linkLimits(signedIn(exchange).account) }),
  );
}

/** @param isOneOfMany whether there are other links to the same item. Without a note, its ID tells it from them */
function linkItem(exchange: Exchange, context: PageContext, grant: Grant, isOneOfMany: boolean) {
  const { language } = context;
  const { id, link, name, createdMs, expiresMs, downloads = 0, used } = grant;
  const [isDrop, total] = [link?.kind === 'drop', link?.maximumDownloads];
  const label = (text: string) => html`<span class="label">${text}</span>`;
  const labels = [
    total !== undefined && downloads >= total && html`<strong class="label">${language.text('usedUp')}</strong>`,
    isDrop && label(language.text('kindDrop')),
    link?.passwordHash !== undefined && label(language.text('password')),
    !isDrop && total !== undefined && label(language.text('usedOf', { count: downloads, total })),
  ];
  const facts = factsHtml([
    !isDrop && total === undefined && language.text('usedDownloads', { count: downloads }),
    used ? phraseWithTime(context, 'lastUsed', used.atMs) : isDrop && language.text('unused'),
    phraseWithTime(context, 'linkCreated', createdMs),
  ]);
  const said = name !== '' || !isOneOfMany ? name : `ID ${id}`;
  const note = said !== '' && html`<p class="hint" dir="auto">${said}</p>`;
  const { path, isFolder } = linkedItem(grant);
  const entry = inspect(signedIn(exchange).files, path)?.entry;
  const state = { isFolder: entry?.isFolder ?? isFolder, isThere: entry !== undefined };
  return { id, path, ...state, about: labelsHtml(labels, facts), note, timeMs: expiresMs, until: language.text('until') };
}

function linkedItem({ paths, link }: Grant) {
  const path = paths?.[0] ?? ('/' as VirtualPath);
  return { path, isFolder: link?.kind === 'drop' || path === '/' };
}

export interface SharedActions {
  own(): Promise<Grant[]>;
  /** @returns the number of revoked links */
  revoke(ids: readonly string[]): Promise<number>;
}

/** Answers POST of a form about links. The form of the list leads to a question. The form of the question revokes the links. */
export async function postSharedForm(exchange: Exchange, actions: SharedActions): Promise<Response> {
  const fields = await readForm(exchange);
  const wanted = new Set(fields.getAll('selected'));
  if (wanted.size === 0) throw new ServiceError('nothing-selected', 'No links are selected.');
  const selected = (await actions.own()).filter(({ id }) => wanted.has(id));
  switch (fields.get('action')) {
    case 'confirm-revoke':
      return respond(exchange, revokeQuestion(makePageContext(exchange), selected));
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
    items: links.map((link) => placedName(context, linkedItem(link))),
    warning: language.text('revokeWarning', { count: links.length }),
    action: 'revoke',
    ids: links.map(({ id }) => id),
  });
}
