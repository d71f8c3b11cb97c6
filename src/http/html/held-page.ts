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
import { flashCookieLine, takeFlash } from './page-cookies.ts';
import { messagePageReply, pageContextOf, pageReply } from './page-replies.ts';
import type { PageTextName } from './pages/locales/language.ts';
import type { PageContext } from './pages/page.ts';

const pageUrl = heldUrl('');

/** Maximum number of items on a page, and of IDs in a form. */
const itemsOfPage = 1000;

/** Maximum size of form bodies in bytes. A thousand IDs take 40 KiB. */
const formLimitBytes = 256 * 1024;

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
  const body = html`<main id="main" data-may="">
<nav class="crumbs" aria-label="${language.text('path')}"><ol><li><a href="/home/">${language.text('files')}</a></li>\
<li><a href="${pageUrl}" aria-current="page">${title}</a></li></ol></nav>
<h1 class="hidden">${title}</h1>
<div id="notices" aria-live="polite">${flash && html`<p class="notice success" role="status">${flash.text}</p>`}</div>
${
  items.length > 0
    ? html`<form id="members" tabindex="-1" method="post" action="${pageUrl}">
<div class="trash-tools"><button name="action" value="confirm-withdraw">${icon('close')}${language.text('withdraw')}</button></div>
${hint}
<ul id="recent" class="recent">
${items}
</ul>
<p class="count">${language.text('items', { count: all.length })}</p>
</form>`
    : html`<div id="members" tabindex="-1"><div class="empty closed">${icon('eye')}<p class="lead">${language.text('heldNone')}</p></div></div>`
}
</main>`;
  return respond(exchange, pageReply(context, 200, { title, body, hasScript: true }, { 'set-cookie': clearLine }));
}

function heldItem(context: PageContext, upload: HeldUpload): Html {
  const { language } = context;
  const { id, offsetBytes, held } = upload;
  const reason = held.state === 'inspecting' ? 'heldInspecting' : reasonTexts[held.reason];
  return html`<li>
<label><input type="checkbox" name="selected" value="${id}"> ${nameOf(upload)}</label>
<p class="hint">${language.text(reason)} &middot; ${folderOf(context, upload)} &middot; ${language.size(offsetBytes)} &middot; \
${language.text('heldSince')} <span data-time="${Math.floor(held.sinceMs / 1000)}">${language.date(held.sinceMs)} UTC</span></p>
</li>
`;
}

function nameOf({ path }: HeldUpload): Html {
  return html`<span class="i ${fileIconClasses(baseName(path))}">${bdi(baseName(path))}</span>`;
}

function folderOf({ language }: PageContext, { path }: HeldUpload): Html {
  const folder = parentPath(path);
  return folder === '/' ? html`${language.text('files')}` : bdi(folder);
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
  const headers = { location: pageUrl, 'set-cookie': flashCookieLine('withdrawn', wanted.size), 'cache-control': 'no-store' };
  return respond(exchange, { status: 303, headers });
}

/** Renders the page that lists the selected uploads and asks before they are withdrawn. */
function questionPage(exchange: Exchange, uploads: readonly HeldUpload[]): Reply {
  const context = pageContextOf(exchange);
  const { language } = context;
  const shown = uploads.slice(0, itemsOfPage);
  const body = html`<main class="card roomy" id="main">
<h1>${language.text('withdrawQuestion', { count: shown.length })}</h1>
<ul class="doomed">${shown.map((upload) => html`<li>${nameOf(upload)} <span class="hint">${folderOf(context, upload)}</span></li>`)}</ul>
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
