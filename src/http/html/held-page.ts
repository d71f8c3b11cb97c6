import type { HeldUpload } from '../../files/inspections/holding.ts';
import type { HoldReason } from '../../files/inspections/verdict.ts';
import { ServiceError } from '../../lib/errors.ts';
import { html } from '../../lib/html.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { heldUrl, ownHeld } from '../rest/held.ts';
import { eachResult } from '../rest/member-actions.ts';
import { accountPage, itemButton, itemsOfPage, placedName, questionPage, readForm, selectionTable } from './account-page.ts';
import { flashRedirect } from './page-cookies.ts';
import { makePageContext, messagePageReply } from './page-replies.ts';
import type { PageTextName } from './pages/locales/language.ts';
import type { PageContext } from './pages/page.ts';

const pageUrl = heldUrl('');

const reasonTexts: Readonly<Record<HoldReason, PageTextName>> = {
  verdict: 'heldVerdict',
  failure: 'heldFailure',
  larger: 'heldLarger',
  late: 'heldLate',
};

/** Answers GET of the page with the account's held uploads (docs/spec/inspections.md#held-uploads). The page needs no scripts. */
export async function showHeldPage(exchange: Exchange): Promise<Response> {
  const context = makePageContext(exchange);
  const { language } = context;
  const all = (await ownHeld(exchange)).sort((a, b) => b.held.sinceMs - a.held.sinceMs);
  const title = language.text('held');
  const content = selectionTable(exchange, context, {
    url: pageUrl,
    title,
    actions: itemButton('confirm-withdraw', language.text('withdraw')),
    hint: html`<p class="hint">${language.text('heldHint')}</p>`,
    items: all.map(({ id, path, offsetBytes, held }) => {
      const reason = held.state === 'inspecting' ? 'heldInspecting' : reasonTexts[held.reason];
      const note = html`<p class="hint">${language.text(reason)}</p>`;
      return { id, path, isFolder: false, note, about: language.size(offsetBytes), sizeBytes: offsetBytes, timeMs: held.sinceMs };
    }),
    heads: { about: language.text('size'), hasWords: false, time: language.text('heldSince') },
    none: { icon: 'eye', text: language.text('heldNone') },
  });
  return respond(exchange, accountPage(exchange, context, { url: pageUrl, title, content }));
}

/** Answers POST of a form about held uploads. The form of the list leads to a question. The form of the question withdraws the uploads. */
export async function postHeldForm(exchange: Exchange): Promise<Response> {
  const { files, account } = signedIn(exchange);
  if (mediaTypeOfRequest(exchange) !== 'application/x-www-form-urlencoded')
    throw new ServiceError('media-type-unsupported', 'A form of held uploads must be sent as application/x-www-form-urlencoded.');
  const fields = await readForm(exchange);
  const action = fields.get('action');
  const wanted = new Set(fields.getAll('selected'));
  if (wanted.size === 0) throw new ServiceError('nothing-selected', 'No uploads are selected.');
  const all = await ownHeld(exchange);
  const selected = all.filter(({ id }) => wanted.has(id));
  if (action === 'confirm-withdraw') return respond(exchange, withdrawQuestion(makePageContext(exchange), selected));
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
  if (failed[0]) return respond(exchange, messagePageReply(exchange, wanted.size === 1 ? failed[0].status : 422, { results: failed }));
  return respond(exchange, flashRedirect(pageUrl, 'withdrawn', wanted.size));
}

function withdrawQuestion(context: PageContext, uploads: readonly HeldUpload[]): Reply {
  const { language } = context;
  const shown = uploads.slice(0, itemsOfPage);
  return questionPage(context, {
    url: pageUrl,
    title: language.text('withdraw'),
    question: language.text('withdrawQuestion', { count: shown.length }),
    items: shown.map(({ path }) => placedName(context, { path, isFolder: false })),
    warning: language.text('heldHint'),
    action: 'withdraw',
    ids: shown.map(({ id }) => id),
  });
}
