import type { AccountFiles } from '../../files/account-files.ts';
import { bdi, escapeFormValue, Html, html, icon } from '../../lib/html.ts';
import type { IconName } from '../../lib/icon-shapes.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { baseName, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { Reply } from '../reply/reply.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { readSmallForm } from '../request/request-body.ts';
import { memberUrlPath } from '../request/request-target.ts';
import { takeFlash } from './page-cookies.ts';
import { inspect, pageReply } from './page-replies.ts';
import { assetPaths } from './pages/assets.ts';
import { column, limitsData, nextDirection } from './pages/listing/listing-page.ts';
import type { Language } from './pages/locales/language.ts';
import type { PageContext } from './pages/page.ts';

/** Reads a form of a page of the account, such as the trash. The limit leaves ample room: the IDs of 1,000 items take 42 KiB. */
export const readForm = (exchange: Exchange) => readSmallForm(exchange, 256 * 1024);

interface AccountPage {
  url: string;
  title: string;
  content: Html;
  /** Limits of new links, as in `ListingModel.share`, for a page on which the script can create links. */
  share?: string;
}

/**
 * Builds the reply with a page of the account, such as the trash, but not with the page of a folder. If a form redirected the browser to
 * the page, the page shows the result of the form.
 */
export function accountPage(exchange: Exchange, context: PageContext, { url, title, content, share }: AccountPage, status = 200): Reply {
  const { language } = context;
  const { flash, clearLine } = takeFlash(exchange, language);
  const body = html`<main id="main" data-may=""${limitsData({ share })}>
<nav class="crumbs" aria-label="${language.text('path')}"><ol><li><a href="/home/">${language.text('files')}</a></li>\
<li><a href="${url}" aria-current="page">${title}</a></li></ol></nav>
<h1 class="hidden">${title}</h1>
<div id="notices" aria-live="polite">${flash && html`<p class="notice success" role="status">${flash.text}</p>`}</div>
${content}
</main>`;
  return pageReply(context, status, { title, body, hasScript: true }, { 'set-cookie': clearLine });
}

/**
 * Renders a button for the selected items.
 *
 * @param action value of the form's field `action`
 * @param name name of the icon, for an action on one item. The page's script shows this button only while exactly one item is selected.
 *   Without `name`, the button deletes, withdraws or revokes all selected items, and has the icon of the trash
 */
export function itemButton(action: string, label: string, name?: IconName): Html {
  const looks = name === undefined ? html`class="trigger danger"` : html`class="trigger" data-one`;
  return html`<button ${looks} name="action" value="${action}" data-icon="${name ?? 'trash'}" title="${label}">${icon(name ?? 'trash')}<span class="wide">${label}</span></button>`;
}

/** The icon and the text that replace an empty list. */
interface None {
  icon: IconName;
  text: string;
}

/** A file, folder, link or token of the account, as a row in the table of an account page. */
export interface PlacedItem {
  id: string;
  path: VirtualPath;
  isFolder: boolean;
  /** For a token: its name, and the content of its last column. For other items, both come from the path. */
  named?: { label: string; place: Html };
  /** Whether something exists at the path now, so that the page can link to it. */
  isThere?: boolean;
  note?: Html | false;
  /** The content of the third column, and the size by which that column is sorted. */
  about: Html | string;
  sizeBytes?: number;
  timeMs: number;
  /** A word before the time, for narrow screens, where the time is not below the title of its column. */
  until?: string;
}

interface SelectionTable {
  url: string;
  title: string;
  /** Buttons for the selected items. */
  actions: Html;
  /** Buttons for all items. */
  tools?: Html | false;
  hint: Html | false;
  items: readonly PlacedItem[];
  /** Titles of the third column and the column of times. `hasWords`: whether the third column contains words instead of sizes. */
  heads: { about: string; hasWords: boolean; time: string };
  none: None;
}

/** Maximum number of items on a page. A form with the IDs of all of them stays below the limit of `readForm`. */
export const itemsOfPage = 1000;

/** Renders a form with a table that looks like a folder's. Without items, renders a text. Shows at most `itemsOfPage` items. */
export function selectionTable(exchange: Exchange, context: PageContext, table: SelectionTable): Html {
  const { language } = context;
  const { url, title: label, actions, tools, hint, items, heads, none } = table;
  if (items.length === 0) return emptyPage(none, hint);
  const query = new URLSearchParams(exchange.target.query);
  const columns = ['name', 'size', 'modified', 'folder'].filter((name) => name !== 'size' || !heads.hasWords);
  const asked = columns.find((name) => name === query.get('sort')) ?? 'modified';
  const order = { column: asked, direction: query.get('order') === 'asc' ? 'asc' : 'desc' } as const;
  const title = (name: string, words: string) =>
    columns.includes(name)
      ? column(order, name, words, `?sort=${name}&order=${nextDirection(order, name)}`)
      : html`<th role="columnheader" class="about">${words}</th>`;
  return html`<div class="tools" id="tools"><div class="search"><input type="search" class="filter" hidden aria-label="${language.text('name')}"></div>${tools}</div>
${hint}
<form id="members" tabindex="-1" method="post" action="${url}" autocomplete="off">
<table id="list" role="table" class="placed${heads.hasWords && ' wordy'}" aria-label="${label}">
<thead role="rowgroup"><tr role="row"><th role="columnheader" class="check"><span class="hidden">${language.text('select')}</span></th>
${title('name', language.text('name'))}${title('size', heads.about)}${title('modified', heads.time)}${title('folder', language.text('inFolder'))}</tr></thead>
<tbody role="rowgroup">
${inOrder(items.slice(0, itemsOfPage), order, language.tag).map((item) => placedRow(exchange, context, item))}
</tbody></table>
<p class="count" id="count">${language.text('items', { count: items.length })}</p>
<div class="actions" id="actions">${actions}</div>
</form>`;
}

function inOrder(items: PlacedItem[], { column, direction }: { column: string; direction: string }, language: string): PlacedItem[] {
  const { compare } = new Intl.Collator(language, { numeric: true });
  const ascending = (a: PlacedItem, b: PlacedItem) => {
    if (column === 'size') return (a.sizeBytes ?? 0) - (b.sizeBytes ?? 0);
    if (column === 'modified') return a.timeMs - b.timeMs;
    return column === 'name' ? compare(labelOf(a), labelOf(b)) : compare(parentPath(a.path), parentPath(b.path));
  };
  return items.sort((a, b) => (direction === 'asc' ? ascending(a, b) : ascending(b, a)));
}

function labelOf({ path, named }: PlacedItem): string {
  return named?.label ?? baseName(path);
}

function placedRow(exchange: Exchange, context: PageContext, item: PlacedItem): Html {
  const { id, path, isFolder, named, isThere, note, about, timeMs, until } = item;
  const { language } = context;
  const { files } = signedIn(exchange);
  const folder = parentPath(path);
  const label = labelOf(item) || language.text('files');
  const looks = named ? 'i code' : placedLooks({ path, isFolder });
  const url = isFolder ? memberUrlPath(path, true) : `${memberUrlPath(folder, true)}?preview=${encodeURIComponent(label)}`;
  const isLinked = isThere && files.may(isFolder ? path : folder, 'listFolder');
  return html`<tr role="row"><td role="cell"><input type="checkbox" name="selected" value="${id}" data-name="${label}" aria-label="${language.text('selectName', { name: label })}"></td>\
<td role="cell">${isLinked ? html`<a class="${looks}" href="${url}">${bdi(label)}</a>` : html`<span class="${looks}">${bdi(label)}</span>`}${note}</td>\
<td role="cell">${about}</td><td role="cell" data-time="${Math.floor(timeMs / 1000)}"${until !== undefined && html` data-until="${until}"`}>${language.date(timeMs)} UTC</td>\
<td role="cell">${named?.place ?? folderLink(language, files, folder)}</td></tr>
`;
}

function folderHtml({ language }: Pick<PageContext, 'language'>, folder: VirtualPath): Html {
  return folder === '/' ? html`${language.text('files')}` : bdi(folder);
}

/** Renders facts in one line, separated by dots. Lines break between facts, after a dot. A fact that is `false` is omitted. */
export function factsHtml(facts: readonly (Html | string | false)[]): Html {
  const shown = facts.filter((fact) => fact !== false);
  return html`${shown.map((fact, index) => html`<span class="fact">${fact}${index + 1 < shown.length && html`<i>&nbsp;&middot;</i>`}</span> `)}`;
}

/** Renders what distinguishes an item as labels, and further facts in a line below them. A label that is `false` is omitted. */
export function labelsHtml(labels: readonly (Html | false)[], facts: Html): Html {
  const shown = labels.filter((label) => label !== false);
  return html`${shown.length > 0 && html`<p class="labels">${shown.map((label) => html`${label} `)}</p>`}${facts}`;
}

/** Renders a list without checkboxes, or a text if there are no items. */
export function plainList({ hint, items, none }: { hint: Html; items: readonly Html[]; none: None }): Html {
  if (items.length === 0) return emptyPage(none, hint);
  return html`<link rel="stylesheet" href="${assetPaths.plainListStyle}"><div id="members" tabindex="-1">${hint}
<ul id="recent" class="recent">
${items}
</ul></div>`;
}

/** Renders the name of a folder, as a link if it exists and the account may list it. */
export function folderLink(language: Language, files: AccountFiles, folder: VirtualPath): Html {
  const name = folderHtml({ language }, folder);
  return files.may(folder, 'listFolder') && inspect(files, folder)?.entry?.isFolder
    ? html`<a href="${memberUrlPath(folder, true)}">${name}</a>`
    : name;
}

function placedLooks({ path, isFolder }: Pick<PlacedItem, 'path' | 'isFolder'>): string {
  return `i ${isFolder ? 'folder' : fileIconClasses(baseName(path))}`;
}

/** Renders the name and the folder of an item, for a page that asks for confirmation. */
export function placedName({ language }: PageContext, { path, isFolder }: Pick<PlacedItem, 'path' | 'isFolder'>): Html {
  return html`<span class="${placedLooks({ path, isFolder })}">${baseName(path) === '' ? language.text('files') : bdi(baseName(path))}</span> \
<span class="hint">${folderHtml({ language }, parentPath(path))}</span>`;
}

function emptyPage({ icon: name, text }: None, hint: Html | false): Html {
  return html`<div id="members" tabindex="-1"><div class="empty closed">${icon(name)}<p class="lead">${text}</p>${hint}</div></div>`;
}

interface Question {
  url: string;
  /** The title of the page and of its button. */
  title: string;
  question: string;
  items: readonly Html[];
  warning: string;
  /** Further fields that the user fills in. */
  fields?: Html;
  action: string;
  /** IDs that the form sends back unchanged. */
  ids: readonly string[];
  /** Whether the action destroys nothing. */
  isHarmless?: boolean;
}

/** Renders the page that lists the selected items and asks the user to confirm the action. */
export function questionPage(context: PageContext, asked: Question): Reply {
  const { url, title, question, items, warning, fields, action, ids, isHarmless } = asked;
  const body = html`<main class="card roomy" id="main">
<h1>${question}</h1>
<ul class="doomed">${items.map((item) => html`<li>${item}</li>`)}</ul>
<p>${warning}</p>
<form method="post" action="${url}">
<input type="hidden" name="action" value="${action}">
${ids.map((id) => new Html(`<input type="hidden" name="selected" value="${escapeFormValue(id)}">`))}
${fields}
<div class="row"><a class="button" href="${url}">${context.language.text('cancel')}</a>
${items.length > 0 && html`<button type="submit" class="primary${!isHarmless && new Html(' danger')}">${title}</button>`}</div>
</form>
</main>`;
  return pageReply(context, 200, { title, body });
}
