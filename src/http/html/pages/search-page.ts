import type { FoundEntry, Search } from '../../../files/operations/search.ts';
import { parentPath, segmentsOf, type VirtualPath } from '../../../lib/virtual-path.ts';
import { urlPathOf } from '../../request/request-target.ts';
import { fileLook } from './file-looks.ts';
import { Html, html, nameHtml } from './html.ts';
import { icon } from './icons.ts';
import { layout, type PageModel } from './layout.ts';
import { folderHead } from './listing-page.ts';
import { searchForm } from './listing-tools.ts';
import type { PageContext } from './page-context.ts';

/** What the page of a search shows. */
export interface SearchModel {
  /** The folder that is searched, with all below it. */
  path: VirtualPath;
  text: string;
  found: Search;
  account: PageModel['account'];
}

/** The page of a search, in chunks as it finds something. */
export async function* searchPage(context: PageContext, model: SearchModel): AsyncGenerator<string> {
  const { language } = context;
  const { found, path, text } = model;
  const marker = '<!--found-->';
  const title = language.text('searchFor', { text });
  const body = html`<main id="main" data-may="">
${folderHead(context, { path, flash: undefined })}
<div class="tools" id="tools">${searchForm(context, text)}</div>
<div id="members" tabindex="-1">
<h2>${new Html(nameHtml(title))}</h2>
<ul class="found">
${new Html(marker)}
</div>
</main>`;
  const page = layout(context, { title, body, account: model.account, hasScript: true });
  const [before = '', after = ''] = page.split(marker);
  yield before;
  // What is there so far is shown while the search goes on.
  yield '';
  let count = 0;
  for await (const batch of found) {
    count += batch.length;
    yield batch.map((entry) => line(context, entry).text).join('');
  }
  yield `</ul>${searchEnd(context, count, found.isTruncated).text}${after}`;
}

function searchEnd({ language }: PageContext, count: number, isTruncated: boolean): Html {
  const rest = isTruncated && html`<p class="notice">${language.text('searchTruncated')}</p>`;
  if (count > 0) return html`<p class="count" id="count">${language.text('found', { count })}</p>${rest}`;
  return html`<div class="empty closed" id="count">${icon('search')}<p class="lead">${language.text('nothingFound')}</p>
<p class="hint">${language.text('nothingFoundHint')}</p></div>${rest}`;
}

function line({ language }: PageContext, { path, name, isFolder, sizeBytes, modifiedMs }: FoundEntry): Html {
  const folder = parentPath(path);
  const place = segmentsOf(folder).length === 0 ? language.text('files') : folder;
  const about = isFolder ? language.text('folder') : language.size(sizeBytes);
  return html`<li><a class="i ${isFolder ? 'folder' : fileLook(name)}" href="${urlPathOf(path, isFolder)}">${new Html(`<bdi>${nameHtml(name)}</bdi>`)}</a>
<span class="hint"><a href="${urlPathOf(folder, true)}"><bdi>${new Html(nameHtml(place))}</bdi></a> &middot; ${about} &middot; <span data-time="${Math.floor(modifiedMs / 1000)}">${language.date(modifiedMs)}</span></span></li>
`;
}
