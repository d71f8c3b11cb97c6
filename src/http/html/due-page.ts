import { pathOfDay } from '../../expectations/schedule.ts';
import type { OwnExpectation, ToldOccurrence } from '../../expectations/told-occurrence.ts';
import { ServiceError } from '../../lib/errors.ts';
import { bdi, type Html, html } from '../../lib/html.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { parseVirtualPath } from '../../lib/virtual-path.ts';
import { jsonReply, uncached } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { replyFormat } from '../request/reply-format.ts';
import { memberUrlPath } from '../request/request-target.ts';
import { accountPage, plainList } from './account-page.ts';
import { makePageContext } from './page-replies.ts';
import type { PageTextName } from './pages/locales/language.ts';
import { type PageContext, timeHtml } from './pages/page.ts';

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
  // A due time such as `2026-03-01T18:00:00+01:00` contains the local time, from which `pathOfDay` takes the parts of the path.
  const expected = ({ due }: ToldOccurrence) => html` &middot; <code>${bdi(pathOfDay(path, new Date(`${due.slice(0, 19)}Z`)))}</code>`;
  return html`<li>
<span class="i ${fileIconClasses('')}">${bdi(name)}</span>
${last !== null && html`<p class="hint">${language.text('dueLast')}${language.text('colon')}${timeHtml(context, Date.parse(last.due))} &middot; <strong class="state ${last.state}">${language.text(stateTexts[last.state])}</strong>${last.state !== 'met' && expected(last)}${last.reason !== undefined && html` &middot; <span lang="en">${last.reason}</span>`}</p>`}
${last?.files.slice(0, maxFiles).map((file) => html`<p class="hint">${fileLink(exchange, file.path)} &middot; ${language.size(file.size)} &middot; ${timeHtml(context, Date.parse(file.time))}</p>`)}
${next !== null && html`<p class="hint">${language.text('dueNext')}${language.text('colon')}${timeHtml(context, Date.parse(next.due))}${expected(next)}</p>`}
</li>
`;
}

/** Renders the name of a file, as a link if the file still exists and the account may read it. */
function fileLink(exchange: Exchange, path: string): Html {
  const { files } = signedIn(exchange);
  const name = bdi(path.slice(path.lastIndexOf('/') + 1));
  try {
    const parsed = parseVirtualPath(path);
    const isThere = files.may(parsed, 'readFile') && files.may(parsed, 'inspectFile') && files.inspect(parsed) !== undefined;
    return isThere ? html`<a href="${memberUrlPath(parsed, false)}">${name}</a>` : name;
  } catch {
    return name;
  }
}

/** Answers GET of the files that the account is expected to send (docs/spec/expectations.md#accounts). */
export async function showExpectations(exchange: Exchange): Promise<Response> {
  const { account } = signedIn(exchange);
  if (!account.showExpectations) throw new ServiceError('never-allowed', 'Files that are due are not shown to this account.');
  const expectations = await exchange.service.expectations(account);
  if (replyFormat(exchange) === 'html') return showDuePage(exchange, expectations);
  return respond(exchange, jsonReply(200, { expectations: expectations.map(({ told }) => told) }, uncached));
}
