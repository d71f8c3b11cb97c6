import { type ListingOrder, sortColumns } from '../../../../files/operations/sorted-listing.ts';
import { bdi, Html, html, icon, nameHtml } from '../../../../lib/html.ts';
import type { IconName } from '../../../../lib/icon-shapes.ts';
import { memberPath, pathSegments, type VirtualPath } from '../../../../lib/virtual-path.ts';
import { layout } from '../layout.ts';
import { type PageContext, viewSwitch } from '../page.ts';
import { type FolderModel, firstRows, type ListingModel, longFolder, orderQuery, rangeOfPage, rowsOfPage } from './listing-model.ts';
import { listingRows } from './listing-rows.ts';
import { memberActions, searchForm, tools } from './listing-tools.ts';

/** The table head. Each column title is a link that sorts by the column. For the column of the current order, the link reverses the order. */
function listingHead(context: PageContext, order: ListingOrder) {
  const { language } = context;
  return html`<thead role="rowgroup"><tr role="row">
<th role="columnheader" class="check"><span class="hidden">${language.text('select')}</span></th>
${column(order, 'name', language.text('name'), columnQuery(order, 'name'))}
${column(order, 'size', language.text('size'), columnQuery(order, 'size'))}
${column(order, 'modified', language.text('modifiedUtc'), columnQuery(order, 'modified'), language.text('modified'))}
${sortMenu(context, order)}
</tr></thead>`;
}

/** Renders a menu with the orders of all columns, because the grid view has no column titles, and with the switch "Folders first". */
function sortMenu({ language }: PageContext, order: ListingOrder) {
  const isFirst = order.folders === 'first';
  const item = (query: string, label: string, isChosen: boolean, shape: IconName) =>
    html`<li><a href="${query}"${isChosen && html` aria-current="true"`}>${label}${isChosen && icon(shape)}</a></li>`;
  const direction = order.direction === 'asc' ? 'up' : 'down';
  const links = sortColumns.map((name) => item(columnQuery(order, name), language.text(name), order.column === name, direction));
  const folders = item(orderQuery({ ...order, folders: isFirst ? 'mixed' : 'first' }), language.text('foldersFirst'), isFirst, 'check');
  const label = language.text('sortBy', { name: language.text(order.column) });
  return html`<th role="columnheader" class="sort"><details><summary title="${label}">${icon('order')}<span>${label}</span></summary>
<ul>${links}${folders}</ul></details></th>`;
}

function columnQuery(order: ListingOrder, column: ListingOrder['column']): string {
  return orderQuery({ ...order, column, direction: nextDirection(order, column) });
}

type TableOrder = Pick<ListingOrder, 'direction'> & { column: string };

/** The direction that a column's title requests. Sizes and times begin descending: most readers want the largest or newest first. */
export function nextDirection({ column, direction }: TableOrder, asked: string): ListingOrder['direction'] {
  if (column === asked) return direction === 'asc' ? 'desc' : 'asc';
  return asked === 'size' || asked === 'modified' ? 'desc' : 'asc';
}

/** Renders the title of a column as a link that sorts by the column. @param localLabel the label that the script shows instead */
export function column(order: TableOrder, name: string, label: string, query: string, localLabel?: string): Html {
  const isSorted = order.column === name;
  const sort = isSorted && html` aria-sort="${order.direction === 'asc' ? 'ascending' : 'descending'}"`;
  return html`<th role="columnheader" class="${name}"${sort}><a href="${query}">
<span${localLabel !== undefined && html` data-local="${localLabel}"`}>${label}</span>${isSorted && icon(order.direction === 'asc' ? 'up' : 'down')}</a></th>`;
}

/** Yields the page of a folder in chunks. */
export async function* listingPage(context: PageContext, model: ListingModel): AsyncGenerator<string> {
  const batches = model.entries[Symbol.asyncIterator]();
  try {
    // After the first batch, it is known how many members the folder has, or at least that it is large.
    const first = await batches.next();
    const isShort = !model.isWhole && model.entries.count > longFolder;
    const marker = '<!--rows-->';
    const name = pathSegments(model.path).at(-1);
    const page = layout(context, {
      title: name ?? (context.appearance.title || context.language.text('files')),
      body: pageBody(context, model, isShort, new Html(marker)),
      hasScript: true,
      unscriptedTo: isShort ? model.wholeUrl : undefined,
    });
    const [before = '', after = ''] = page.split(marker);
    yield before;
    yield* listingRows(context, model, withFirst(first, batches), rangeOfPage(model.page, isShort ? firstRows : rowsOfPage));
    yield after;
  } finally {
    await batches.return(undefined);
  }
}

async function* withFirst<T>(first: IteratorResult<T>, others: AsyncIterable<T>): AsyncGenerator<T> {
  if (!first.done) yield first.value;
  yield* others;
}

function pageBody(context: PageContext, model: ListingModel, isShort: boolean, rows: Html): Html {
  const { language } = context;
  const looks = [model.view === 'grid' && 'grid', isShort && 'long'].filter(Boolean).join(' ');
  return html`<main id="main" data-may="${rightNames(context, model)}" data-taken="${model.onNameTaken}"${limitsData(model)}>
${folderHead(context, model)}
${tools(context, model, html`${context.linked ? model.entries.count > 0 && html`<div class="search"><input type="search" class="filter" hidden></div>` : searchForm(context, model.path)}${viewSwitch(context, model.view)}`)}
<form id="members" tabindex="-1" method="post" enctype="multipart/form-data" autocomplete="off">
<table id="list" role="table"${looks !== '' && html` class="${looks}"`} aria-label="${language.text('files')}">
${listingHead(context, model.order)}
${rows}
${memberActions(context, model)}
</form>
</main>`;
}

/** Shows the name of a folder, the path to it, and messages. */
export function folderHead(context: PageContext, { path, flash, about }: Pick<FolderModel, 'path' | 'flash' | 'about'>): Html {
  const { language } = context;
  return html`<h1 class="hidden">${new Html(nameHtml(pathSegments(path).at(-1) ?? language.text('files')))}</h1>
<nav class="crumbs" aria-label="${language.text('path')}"><ol>${breadcrumb(context, path)}</ol></nav>
${about}
<div id="notices" aria-live="polite">${flash && html`<p class="notice ${flash.isError ? 'error' : 'success'}" role="status">${flash.text}</p>`}</div>`;
}

/** The attributes that tell the page's script the limits of uploads, and of links that share a file or folder. */
export function limitsData({ largestFileBytes, share }: Partial<ListingModel>): Html {
  return html`${largestFileBytes && html` data-largest="${largestFileBytes}"`}${share !== undefined && html` data-links="${share}"`}`;
}

/** The rights for which the script offers actions. They only affect the page: the service checks every request anyway. */
export function rightNames(
  { account }: PageContext,
  model: FolderModel & Partial<Pick<ListingModel, 'mayRead' | 'mayDelete' | 'mayRename' | 'share'>>,
): string {
  const rights = {
    look: model.mayLook,
    read: model.mayRead,
    write: model.mayWrite,
    overwrite: model.mayReplace,
    'create-folder': model.mayCreateFolder,
    delete: model.mayDelete,
    rename: model.mayRename,
    share: model.share !== undefined,
    trash: account?.hasTrash,
    inspected: account?.isInspected,
    quota: account?.hasQuota,
  };
  return Object.entries(rights)
    .filter(([, isAllowed]) => isAllowed)
    .map(([name]) => name)
    .join(' ');
}

function breadcrumb({ language, linked, urlOf }: PageContext, path: VirtualPath) {
  let folder = linked?.root ?? ('/' as VirtualPath);
  const segments = pathSegments(path).slice(pathSegments(folder).length);
  const current = (depth: number) => depth === segments.length && html` aria-current="page"`;
  const first = linked && linked.name !== '' ? bdi(linked.name) : language.text('files');
  const links = [html`<li><a href="${urlOf(folder, true)}"${current(0)}>${first}</a></li>`];
  for (const [index, name] of segments.entries()) {
    folder = memberPath(folder, name);
    links.push(html`<li><a href="${urlOf(folder, true)}"${current(index + 1)}>${bdi(name)}</a></li>`);
  }
  return links;
}
