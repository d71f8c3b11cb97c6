import type { ChangeKind, RecentChange } from '../../events/recent-changes.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import { cooperatively } from '../../lib/concurrency/event-loop.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { baseName, parentPath, parseVirtualPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { respond } from '../reply/respond.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { urlPathOf } from '../request/request-target.ts';
import { accountOfPage, pageContextOf } from './page-replies.ts';
import { Html, html, icon, nameHtml } from './pages/html.ts';
import { layout } from './pages/layout.ts';
import type { PageTextName } from './pages/locales/language.ts';
import { type PageAccount, type PageContext, pageHeaders } from './pages/page.ts';

/** A change as the page shows it. */
interface ShownChange {
  kind: ChangeKind;
  /** Unix time in milliseconds. */
  atMs: number;
  /** Where it is now, or was when it was deleted. */
  path: VirtualPath;
  isFolder: boolean;
  /** Whether what was changed still has this name. */
  isThere: boolean;
  /** Whether the account may open it. */
  isLinked: boolean;
  folder: VirtualPath;
  isFolderLinked: boolean;
  /** Where it was before, as far as the account may know. */
  from: VirtualPath | undefined;
}

/** What an account changed lately. */
function recentPage(context: PageContext, model: { changes: readonly ShownChange[]; account: PageAccount }): string {
  const { language } = context;
  const title = language.text('recent');
  const body = html`<main id="main" data-may="">
<nav class="crumbs" aria-label="${language.text('path')}"><ol><li><a href="/home/">${language.text('files')}</a></li>\
<li><a href="/home/__svc__/recent" aria-current="page">${title}</a></li></ol></nav>
<h1 class="hidden">${title}</h1>
<div id="notices" aria-live="polite"></div>
<div id="members" tabindex="-1">
${model.changes.length > 0 ? changeList(context, model.changes) : nothing(context)}
</div>
</main>`;
  return layout(context, { title, body, account: model.account, hasScript: true });
}

function nothing({ language }: PageContext) {
  return html`<div class="empty closed">${icon('recent')}<p class="lead">${language.text('recentNone')}</p>\
<p class="hint">${language.text('recentHint')}</p></div>`;
}

function changeList(context: PageContext, changes: readonly ShownChange[]) {
  return html`<p class="hint">${context.language.text('recentHint')}</p>
<ul id="recent" class="recent">
${changes.map((change) => changeItem(context, change))}
</ul>`;
}

function changeItem({ language }: PageContext, change: ShownChange) {
  const { path, atMs, isFolder, isThere } = change;
  const look = isFolder ? 'folder' : fileIconClasses(baseName(path));
  const isGone = !isThere && change.kind !== 'deleted';
  return html`<li>
${named(path, look, isFolder, change.isLinked)}
<p class="hint">${whatHappened(language, change)} &middot; ${folderLink(language, change)} &middot; <span data-time="${Math.floor(atMs / 1000)}">${language.date(atMs)} UTC</span>\
${isGone && html` &middot; ${language.text('missing')}`}</p>
</li>`;
}

function named(path: VirtualPath, look: string, isFolder: boolean, isLinked: boolean) {
  const name = new Html(`<bdi>${nameHtml(baseName(path))}</bdi>`);
  return isLinked
    ? html`<a class="i ${look}" href="${urlPathOf(path, isFolder)}">${name}</a>`
    : html`<span class="i ${look}">${name}</span>`;
}

const kindTexts: Readonly<Record<ChangeKind, PageTextName>> = {
  uploaded: 'changeUploaded',
  created: 'changeCreated',
  moved: 'changeMoved',
  copied: 'changeCopied',
  deleted: 'changeDeleted',
};

function whatHappened(language: PageContext['language'], { kind, path, from }: ShownChange) {
  const isRenamed = kind === 'moved' && from !== undefined && parentPath(from) === parentPath(path);
  if (!isRenamed) return html`${language.text(kindTexts[kind])}`;
  const [before = '', after = ''] = language.text('changeRenamed').split('{name}');
  return html`${before}${new Html(`<bdi>${nameHtml(baseName(from))}</bdi>`)}${after}`;
}

function folderLink(language: PageContext['language'], { folder, isFolderLinked }: ShownChange) {
  const name = folder === '/' ? html`${language.text('files')}` : new Html(`<bdi>${nameHtml(folder)}</bdi>`);
  return isFolderLinked ? html`<a href="${urlPathOf(folder, true)}">${name}</a>` : name;
}

/** GET of the page of what the account changed lately (docs/spec/http.md#recent-changes): as far as it may still see it, and as it is now. */
export async function showRecent(exchange: Exchange): Promise<Response> {
  const account = accountOfPage(exchange);
  if (!account.maySeeRecent) throw new ServiceError('never-allowed', 'Recent changes are not shown to this account.');
  const client = clientOf(exchange);
  const changes: ShownChange[] = [];
  for await (const change of cooperatively(await exchange.service.recentChanges(client.account.uuid))) {
    const shown = shownChange(client.files, change);
    if (shown) changes.push(shown);
  }
  return respond(exchange, { status: 200, headers: pageHeaders(), body: recentPage(pageContextOf(exchange), { changes, account }) });
}

function shownChange(files: AccountFiles, { kind, path: changed, destination, isFolder, atMs }: RecentChange): ShownChange | undefined {
  const path = pathOf(destination ?? changed);
  const found = path && look(files, path);
  if (!path || !found) return undefined;
  const { entry } = found;
  const folder = parentPath(path);
  const isThere = entry !== undefined && (isFolder === undefined || entry.isFolder === isFolder);
  const from = destination === undefined ? undefined : pathOf(changed);
  return {
    kind,
    atMs,
    path,
    isFolder: entry?.isFolder ?? isFolder ?? false,
    isThere,
    isLinked: isThere && files.may(path, entry.isFolder ? 'listFolder' : 'readFile'),
    folder,
    isFolderLinked: files.may(folder, 'listFolder'),
    from: from && files.may(from, 'lookAtFile') ? from : undefined,
  };
}

/** @returns undefined for what the account may not see at present */
function look(files: AccountFiles, path: VirtualPath): { entry: Entry | undefined } | undefined {
  try {
    return { entry: files.inspect(path) };
  } catch (error) {
    if (isServiceError(error)) return undefined;
    throw error;
  }
}

function pathOf(text: string): VirtualPath | undefined {
  try {
    return parseVirtualPath(text);
  } catch {
    return undefined;
  }
}
