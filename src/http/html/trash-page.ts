import type { Trashed } from '../../files/trash/trash-folder.ts';
import { nameInText } from '../../lib/display-name.ts';
import { type Problem, ServiceError } from '../../lib/errors.ts';
import { bdi, type Html, html, icon } from '../../lib/html.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import { statusCodes } from '../reply/error-reply.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { eachResult, restoreMember } from '../rest/member-actions.ts';
import { accountPage, itemButton, itemsOfPage, placedName, questionPage, readForm, selectionTable } from './account-page.ts';
import { type FlashCode, flashRedirect } from './page-cookies.ts';
import { makePageContext, pageReply, words } from './page-replies.ts';
import type { PageContext } from './pages/page.ts';

const trashUrl = '/home/__svc__/trash';

/** Answers GET of the trash page (docs/spec/files.md#trash). The page needs no scripts. */
export async function showTrashPage(exchange: Exchange): Promise<Response> {
  const context = makePageContext(exchange);
  const { language } = context;
  const { files, account } = signedIn(exchange);
  const all = await files.trash.list();
  const title = language.text('trash');
  const hint = account.trashDays > 0 && html`<p class="hint">${language.text('trashHint', { count: account.trashDays })}</p>`;
  const mayEnd = all.some(({ path, isFolder }) => files.may(path, isFolder ? 'deleteFolder' : 'deleteFile'));
  const actions = html`<button class="trigger primary" name="action" value="restore" data-icon="recent"${mayEnd && account.trashDays > 0 && html` data-undo`} title="${language.text('restore')}">${icon('recent')}<span class="wide">${language.text('restore')}</span></button>
${mayEnd && itemButton('confirm-end', language.text('endForGood'))}`;
  const tools =
    mayEnd &&
    html`<form method="post" action="${trashUrl}"><button name="action" value="confirm-empty">${icon('trash')}${language.text('emptyTrash')}</button></form>`;
  const items = all.map(({ id, path, isFolder, sizeBytes, deletedMs }) => {
    return { id, path, isFolder, sizeBytes, about: language.size(sizeBytes), timeMs: deletedMs };
  });
  const content = selectionTable(exchange, context, {
    url: trashUrl,
    title,
    actions,
    tools,
    hint,
    items,
    heads: { about: language.text('size'), hasWords: false, time: language.text('changeDeleted') },
    none: { icon: 'trash', text: language.text('trashNone') },
  });
  return respond(exchange, accountPage(exchange, context, { url: trashUrl, title, content }));
}

/** Answers POST of a form on the trash page. Restores items, or asks for confirmation before items are deleted permanently. */
export async function postTrashForm(exchange: Exchange): Promise<Response> {
  const { files } = signedIn(exchange);
  if (mediaTypeOfRequest(exchange) !== 'application/x-www-form-urlencoded')
    throw new ServiceError('media-type-unsupported', 'A form of the trash must be sent as application/x-www-form-urlencoded.');
  const fields = await readForm(exchange);
  const action = fields.get('action');
  const all = await files.trash.list();
  if (action === 'confirm-empty') return respond(exchange, endQuestion(makePageContext(exchange), all, 'empty'));
  if (action === 'empty') {
    const left = await files.trash.empty();
    return respond(exchange, flashRedirect(trashUrl, 'ended', all.length - left.length));
  }
  const path = fields.get('path') || undefined;
  const wanted = new Set(fields.getAll('selected'));
  const selected = all.filter(({ id }) => wanted.has(id));
  if (wanted.size === 0) throw new ServiceError('nothing-selected', 'No items are selected.');
  switch (action) {
    case 'restore':
      return respond(exchange, await forEach(exchange, [...wanted], all, 'restored', (id) => restoreMember(files, id, path)));
    case 'end':
      return respond(exchange, await forEach(exchange, [...wanted], all, 'ended', (id) => files.trash.end(id)));
    case 'confirm-end':
      return respond(exchange, endQuestion(makePageContext(exchange), selected, 'end'));
    default:
      throw new ServiceError('bad-request', `The action "${action ?? ''}" is not known.`);
  }
}

/** Runs an action on each item. A page shows the failures, and asks for another name if a name is taken or invalid. */
async function forEach(
  exchange: Exchange,
  ids: readonly string[],
  all: readonly Trashed[],
  code: FlashCode,
  action: (id: string) => Promise<unknown>,
): Promise<Reply> {
  const failed: { id: string; problem: Problem; status: number }[] = [];
  const results = eachResult(ids, async (id) => {
    await action(id);
    return [];
  });
  for await (const { target, problem, status } of results) if (problem) failed.push({ id: target, problem, status });
  const [only] = failed;
  if (!only) return flashRedirect(trashUrl, code, ids.length);
  const context = makePageContext(exchange);
  const { language } = context;
  const byId = new Map(all.map((trashed) => [trashed.id, trashed]));
  const status = ids.length === 1 ? only.status : 422;
  const title = language.text(status === statusCodes.exists ? 'error409' : 'error422');
  const items = failed.map(({ id, problem }) => failedItem(context, byId.get(id), id, problem));
  const body = html`<main class="card roomy" id="main">
<h1>${title}</h1>
<ul class="doomed">${items}</ul>
<p><a class="button" href="${trashUrl}">${language.text('backToTrash')}</a></p>
</main>`;
  return pageReply(context, status, { title, body });
}

function failedItem(context: PageContext, trashed: Trashed | undefined, id: string, problem: Problem): Html {
  const { language } = context;
  const name = trashed ? placedName(context, trashed) : bdi(id);
  const needsName = trashed && (problem.code === 'exists' || problem.code === 'name-invalid');
  return html`<li>${name} <span class="hint">${words(context, problem)}</span>${
    needsName &&
    html`<form method="post" action="${trashUrl}"><input type="hidden" name="action" value="restore"><input type="hidden" name="selected" value="${id}">
<label for="as-${id}">${language.text('restoreAs')}</label>
<input id="as-${id}" name="path" required maxlength="255" autocomplete="off" value="${otherName(baseName(trashed.path))}">
<button type="submit" class="primary">${language.text('restore')}</button></form>`
  }</li>`;
}

function otherName(name: string): string {
  const shown = name.replace(/[\u0000-\u001f\u007f]/g, '_');
  const dot = shown.lastIndexOf('.');
  return dot > 0 ? `${shown.slice(0, dot)} (2)${shown.slice(dot)}` : `${shown} (2)`;
}

function endQuestion(context: PageContext, items: readonly Trashed[], action: 'end' | 'empty'): Reply {
  const { language } = context;
  const shown = items.slice(0, itemsOfPage);
  return questionPage(context, {
    url: trashUrl,
    title: language.text('endForGood'),
    question: language.text('endQuestion', { count: items.length, name: nameInText(baseName(items[0]?.path ?? ('/' as VirtualPath))) }),
    items: shown.map((trashed) => placedName(context, trashed)),
    warning: language.text('deleteWarning'),
    action,
    ids: action === 'end' ? shown.map(({ id }) => id) : [],
  });
}
