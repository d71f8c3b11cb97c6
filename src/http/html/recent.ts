import { type ChangeGroup, type ChangeKind, groupChanges, type RecentChange } from '../../events/recent-changes.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import { cooperatively } from '../../lib/concurrency/event-loop.ts';
import { ServiceError } from '../../lib/errors.ts';
import { bdi, type Html, html } from '../../lib/html.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { baseName, parentPath, parseVirtualPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { memberUrlPath } from '../request/request-target.ts';
import { accountPage, folderLink, plainList } from './account-page.ts';
import { inspect, makePageContext } from './page-replies.ts';
import type { Language, PageTextName } from './pages/locales/language.ts';
import { timeHtml } from './pages/page.ts';

/**
 * Answers GET of the page with the account's recent changes (docs/spec/http.md#recent-changes). The page lists only changes of files that
 * the account may still see, and shows the current state of these files.
 */
export async function showRecent(exchange: Exchange): Promise<Response> {
  const context = makePageContext(exchange);
  const { language } = context;
  if (!context.account?.maySeeRecent) throw new ServiceError('never-allowed', 'Recent changes are not shown to this account.');
  const { files, account } = signedIn(exchange);
  const items: Html[] = [];
  for await (const group of cooperatively(groupChanges(await exchange.service.recentChanges(account.uuid)))) {
    items.push(...groupItems(language, files, group));
  }
  const title = language.text('recent');
  const content = plainList({
    hint: html`<p class="hint">${language.text('recentHint')}</p>`,
    items,
    none: { icon: 'recent', text: language.text('recentNone') },
  });
  return respond(exchange, accountPage(exchange, context, { url: '/home/__svc__/recent', title, content }));
}

const kindTexts: Readonly<Record<ChangeKind, PageTextName>> = {
  uploaded: 'changeUploaded',
  created: 'changeCreated',
  moved: 'changeMoved',
  copied: 'changeCopied',
  deleted: 'changeDeleted',
  restored: 'changeRestored',
};

/** Renders the changes of a group. Several changes become one item that the reader can open. */
function groupItems(language: Language, files: AccountFiles, { changes, kind, root }: ChangeGroup): readonly Html[] {
  const found = changes.flatMap((change) => changeItem(language, files, change));
  const items = found.map(({ item }) => item);
  const { path = '', destination, atMs = 0 } = changes[0] ?? {};
  const shown = parsedPath(root ?? destination ?? path);
  if (items.length < 2 || !shown) return items;
  const count = language.text('items', { count: items.length });
  const what = root !== undefined && inspect(files, shown) ? html`${bdi(baseName(shown))} (${count})` : count;
  return [
    html`<li><details><summary class="i ${root !== undefined ? 'folder' : found.every(({ look }) => look === found[0]?.look) && found[0]?.look}"><span>${language.text(kindTexts[kind])}${language.text('colon')}${what}</span></summary>
<ul class="recent">
${items}
</ul></details>
${facts(folderLink(language, files, parentPath(shown)), timeHtml({ language }, atMs))}</li>`,
  ];
}

/** Renders a change as one item. @returns an empty list if the account may no longer see the changed member */
function changeItem(language: Language, files: AccountFiles, change: RecentChange): { item: Html; look: string }[] {
  const { kind, destination, atMs } = change;
  const path = parsedPath(destination ?? change.path);
  const found = path && inspect(files, path);
  if (!path || !found) return [];
  const { entry } = found;
  const isThere = entry !== undefined && (change.isFolder === undefined || entry.isFolder === change.isFolder);
  const isFolder = entry?.isFolder ?? change.isFolder ?? false;
  const isLinked = isThere && files.may(path, isFolder ? 'listFolder' : 'readFile');
  const look = isFolder ? 'folder' : fileIconClasses(baseName(path));
  const name = bdi(baseName(path));
  const isMissing = !isThere && kind !== 'deleted';
  const what = html`${description(language, files, change, path)}${isMissing && html`, ${language.text('missing')}`}`;
  const item = html`<li>
${isLinked ? html`<a class="i ${look}" href="${memberUrlPath(path, isFolder)}">${name}</a>` : html`<span class="i ${look}${!isThere && ' gone'}">${name}</span>`}
${facts(what, folderLink(language, files, parentPath(path)), timeHtml({ language }, atMs))}
</li>`;
  return [{ item, look }];
}

/** Renders facts, which wide screens show in columns. */
function facts(...all: readonly Html[]): Html {
  return html`<p class="hint facts">${all.map((fact, index) => html`${index > 0 && html`<i>&nbsp;&middot; </i>`}<span>${fact}</span>`)}</p>`;
}

/** Describes a change. For a renamed member, the earlier name is added if the account may know it. */
function description(language: Language, files: AccountFiles, { kind, path: changed, destination }: RecentChange, path: VirtualPath): Html {
  const from = kind === 'moved' && destination !== undefined ? parsedPath(changed) : undefined;
  if (!from || parentPath(from) !== parentPath(path) || !files.may(from, 'inspectFile')) return html`${language.text(kindTexts[kind])}`;
  const [before = '', after = ''] = language.text('changeRenamed').split('{name}');
  return html`${before}${bdi(baseName(from))}${after}`;
}

/** @returns undefined if the text is not a valid path */
export function parsedPath(text: string): VirtualPath | undefined {
  try {
    return parseVirtualPath(text);
  } catch {
    return undefined;
  }
}
