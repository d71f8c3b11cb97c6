import type { HeldUpload } from '../../files/inspections/holding.ts';
import type { HoldReason } from '../../files/inspections/verdict.ts';
import { cooperatively } from '../../lib/concurrency/event-loop.ts';
import { ServiceError } from '../../lib/errors.ts';
import { bdi, escapeFormValue, Html, html, icon } from '../../lib/html.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { baseName, parentPath } from '../../lib/virtual-path.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { readSmallForm } from '../request/request-body.ts';
import { heldUrl, ownHeld } from '../rest/held.ts';
import { eachResult } from '../rest/member-actions.ts';
import { accountPage, folderHtml, formLimitBytes, selectionList, timeHtml } from './account-page.ts';
import { flashRedirect, takeFlash } from './page-cookies.ts';
import { messagePageReply, pageContextOf, pageReply } from './page-replies.ts';
import type { PageTextName } from './pages/locales/language.ts';
import type { PageContext } from './pages/page.ts';

const pageUrl = heldUrl('');

/** Maximum number of items on a page, and of IDs in a form. */
const itemsOfPage = 1000;

const reasonTexts: Readonly<Record<HoldReason, PageTextName>> = {
  verdict: 'heldVerdict',
  failure: 'heldFailure',
  larger: 'heldLarger',
  late: 'heldLate',
};

/** Answers GET of the page with the account's held uploads (docs/spec/inspections.md#held-uploads). The page needs no scripts. */
export async function showHeldPage(exchange: Exchange): Promise<Response> {
  const context = pageContextOf(exchange);
  const { language } = context;
  const all = (await ownHeld(exchange)).sort((a, b) => b.held.sinceMs - a.held.sinceMs);
  const { flash, clearLine } = takeFlash(exchange, language);
  const title = language.text('held');
  const hint = html`<p class="hint">${language.text('heldHint')}</p>`;
  const items: Html[] = [];
  for await (const upload of cooperatively(all.slice(0, itemsOfPage))) items.push(heldItem(context, upload));
  const tools = html`<button name="action" value="confirm-withdraw">${icon('close')}${language.text('withdraw')}</button>`;
  const none = { icon: 'eye', text: language.text('heldNone') } as const;
  const content = selectionList(context, { url: pageUrl, tools, hint: items.length > 0 && hint, items, count: all.length, none });
  const body = accountPage(context, { url: pageUrl, title, flash, content });
  return respond(exchange, pageReply(context, 200, { title, body, hasScript: true }, { 'set-cookie': clearLine }));
}

function heldItem(context: PageContext, upload: HeldUpload): Html {
  const { language } = context;
  const { id, offsetBytes, held } = upload;
  const reason = held.state === 'inspecting' ? 'heldInspecting' : reasonTexts[held.reason];
  return html`<li>
<label><input type="checkbox" name="selected" value="${id}"> ${nameOf(upload)}</label>
<p class="hint">${language.text(reason)} &middot; ${folderHtml(context, parentPath(upload.path))} &middot; ${language.size(offsetBytes)} &middot; \
${language.text('heldSince')} ${timeHtml(context, held.sinceMs)}</p>
</li>
`;
}

function nameOf({ path }: HeldUpload): Html {
  return html`<span class="i ${fileIconClasses(baseName(path))}">${bdi(baseName(path))}</span>`;
}

/** Answers POST of a form of that page. The first form leads to a question; the second one withdraws the uploads. */
export async function postHeldForm(exchange: Exchange): Promise<Response> {
  const { files, account } = signedIn(exchange);
  if (mediaTypeOfRequest(exchange) !== 'application/x-www-form-urlencoded')
    throw new ServiceError('media-type-unsupported', 'A form of held uploads is sent as application/x-www-form-urlencoded.');
  const fields = await readSmallForm(exchange, formLimitBytes);
  const action = fields.get('action');
  const wanted = new Set(fields.getAll('selected'));
  if (wanted.size === 0) throw new ServiceError('nothing-selected', 'No uploads are selected.');
  const all = await ownHeld(exchange);
  if (action === 'confirm-withdraw')
    return respond(
      exchange,
      questionPage(
        exchange,
        all.filter(({ id }) => wanted.has(id)),
      ),
    );
  if (action !== 'withdraw') throw new ServiceError('bad-request', `The action "${action ?? ''}" is not known.`);
  const byId = new Map(all.map((upload) => [upload.id, upload]));
  const results = eachResult([...wanted], async (id) => {
    if (!byId.has(id)) throw new ServiceError('not-found', 'There is no such held upload.');
    await files.environment.held.withdraw(id, account);
    return [];
  });
  const failed = [];
  for await (const { target, problem, status } of results)
    if (problem) failed.push({ target: byId.get(target)?.path ?? target, problem, status });
  const [only] = failed;
  if (only) return respond(exchange, messagePageReply(exchange, wanted.size === 1 ? only.status : 422, { results: failed }));
  return respond(exchange, flashRedirect(pageUrl, 'withdrawn', wanted.size));
}

/** Renders the page that lists the selected uploads and asks before they are withdrawn. */
function questionPage(exchange: Exchange, uploads: readonly HeldUpload[]): Reply {
  const context = pageContextOf(exchange);
  const { language } = context;
  const shown = uploads.slice(0, itemsOfPage);
  const body = html`<main class="card roomy" id="main">
<h1>${language.text('withdrawQuestion', { count: shown.length })}</h1>
<ul class="doomed">${shown.map((upload) => html`<li>${nameOf(upload)} <span class="hint">${folderHtml(context, parentPath(upload.path))}</span></li>`)}</ul>
<p>${language.text('heldHint')}</p>
<form method="post" action="${pageUrl}" class="row">
<input type="hidden" name="action" value="withdraw">
${shown.map(({ id }) => new Html(`<input type="hidden" name="selected" value="${escapeFormValue(id)}">`))}
<a class="button" href="${pageUrl}">${language.text('cancel')}</a>
${shown.length > 0 && html`<button type="submit" class="primary danger">${language.text('withdraw')}</button>`}
</form>
</main>`;
  return pageReply(context, 200, { title: language.text('withdraw'), body });
}
