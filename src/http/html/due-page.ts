import { pathOfDay } from '../../expectations/schedule.ts';
import type { OwnExpectation, ToldOccurrence } from '../../expectations/told-occurrence.ts';
import { ServiceError } from '../../lib/errors.ts';
import { bdi, type Html, html, icon } from '../../lib/html.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { parentPath } from '../../lib/virtual-path.ts';
import { jsonReply, uncached } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { replyFormat } from '../request/reply-format.ts';
import { memberUrlPath } from '../request/request-target.ts';
import { accountPage, plainList } from './account-page.ts';
import { inspect, makePageContext } from './page-replies.ts';
import type { PageTextName } from './pages/locales/language.ts';
import { type PageContext, timeHtml } from './pages/page.ts';
import { parsedPath } from './recent.ts';

const dueUrl = '/home/__svc__/expectations';

const stateTexts: Readonly<Record<ToldOccurrence['state'], PageTextName>> = {
  waiting: 'dueWaiting',
  met: 'dueMet',
  late: 'dueLate',
  missing: 'dueMissing',
  malformed: 'dueMalformed',
  excused: 'dueExcused',
};

/** Maximum number of files that the page names for one occurrence, that is, for one time at which files are due. */
const maxFiles = 10;

const dot = html`<span class="dot">&nbsp;&middot; </span>`;

/** Answers GET of the page with the files that are due from the account (docs/spec/expectations.md#accounts). The page needs no scripts. */
function showDuePage(exchange: Exchange, expectations: readonly OwnExpectation[]): Promise<Response> {
  const context = makePageContext(exchange);
  const { language } = context;
  const title = language.text('due');
  const content = plainList({
    hint: html`<p class="hint">${language.text('dueHint')}</p>`,
    items: expectations.map((one) => expectationItem(exchange, context, one)),
    none: { icon: 'due', text: language.text('dueNone') },
  });
  return respond(exchange, accountPage(exchange, context, { url: dueUrl, title, content }));
}

function expectationItem(exchange: Exchange, context: PageContext, { told: { name, last: newest, next }, path }: OwnExpectation): Html {
  const { language } = context;
  const last = newest?.watched === false ? null : newest;
  const state = (last ?? next)?.state;
  const expected = (told: ToldOccurrence) => expectedPath(exchange, path, told);
  const line = (label: PageTextName, told: ToldOccurrence, isShown: boolean) =>
    html`<p>${language.text(label)}${language.text('colon')}${timeHtml(context, Date.parse(told.due))}${isShown && html`${dot}${expected(told).shown}`}${told.reason !== undefined && html`${dot}<span lang="en">${told.reason}</span>`}</p>`;
  const upload = next !== null && expected(next).uploadUrl;
  return html`<li class="due">
<span class="i ${fileIconClasses('')}"><span>${bdi(name)}${state && html` <strong class="state ${state}">${language.text(stateTexts[state])}</strong>`}</span></span>
<div>${last?.files.slice(0, maxFiles).map((file) => html`<p>${fileLink(exchange, file.path)}${dot}${language.size(file.size)} &middot; ${timeHtml(context, Date.parse(file.time))}</p>`)}
${last !== null && line('dueLast', last, last.state !== 'met' && last.state !== 'late')}
${next !== null && line('dueNext', next, true)}</div>
${upload && html`<a class="button" href="${upload}" aria-label="${language.text('upload')}${language.text('colon')}${name}">${icon('upload')}${language.text('upload')}</a>`}
</li>
`;
}

/**
 * Renders the path that an occurrence expects, as a link to its folder if the account may list it.
 *
 * @returns also the URL of the folder if the account can upload there
 */
function expectedPath(exchange: Exchange, path: string, { due }: ToldOccurrence): { shown: Html; uploadUrl: string | false } {
  const { files } = signedIn(exchange);
  // A due time such as `2026-03-01T18:00:00+01:00` contains the local time, from which `pathOfDay` takes the parts of the path.
  const text = pathOfDay(path, new Date(`${due.slice(0, 19)}Z`));
  const shown = html`<code>${bdi(text)}</code>`;
  const expected = parsedPath(text);
  if (!expected) return { shown, uploadUrl: false };
  const folder = parentPath(expected);
  const url = memberUrlPath(folder, true);
  const found = inspect(files, folder);
  const isThere = found?.entry?.isFolder === true;
  return {
    shown: isThere && files.may(folder, 'listFolder') ? html`<a href="${url}">${shown}</a>` : shown,
    // An account that may not know which folders exist can upload to a folder that is missing.
    uploadUrl: (isThere || !found) && files.may(expected, 'createFile') && url,
  };
}

/** Renders the name of a file, as a link if the file still exists and the account may read it. */
function fileLink(exchange: Exchange, text: string): Html {
  const { files } = signedIn(exchange);
  const name = bdi(text.slice(text.lastIndexOf('/') + 1));
  const path = parsedPath(text);
  return path && files.may(path, 'readFile') && inspect(files, path)?.entry
    ? html`<a href="${memberUrlPath(path, false)}">${name}</a>`
    : name;
}

/** Answers GET of the files that the account is expected to send (docs/spec/expectations.md#accounts). */
export async function showExpectations(exchange: Exchange): Promise<Response> {
  const { account } = signedIn(exchange);
  if (!account.showExpectations) throw new ServiceError('never-allowed', 'Files that are due are not shown to this account.');
  const expectations = await exchange.service.expectations(account);
  if (replyFormat(exchange) === 'html') return showDuePage(exchange, expectations);
  return respond(exchange, jsonReply(200, { expectations: expectations.map(({ told }) => told) }, uncached));
}
