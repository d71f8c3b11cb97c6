import type { Entry } from '../../files/entry.ts';
import { memberPath, segmentsOf, type VirtualPath } from '../../lib/virtual-path.ts';
import { urlPathOf } from '../request-target.ts';
import { escapeHtml, Html, html } from './html.ts';
import { layout } from './layout.ts';

/** What a folder's page shows. */
export interface ListingModel {
  path: VirtualPath;
  entries: AsyncIterable<Entry[]>;
  accountName: string;
  mayWrite: boolean;
  mayCreateFolder: boolean;
  mayDelete: boolean;
  triggers: readonly { name: string; style: string }[];
  flash: { isError: boolean; text: string } | undefined;
  hasSession: boolean;
}

/** The page of a folder, in chunks: memory does not grow with the folder. */
export async function* listingPage(model: ListingModel): AsyncGenerator<string> {
  const marker = '<!--rows-->';
  const page = layout({
    title: model.path === '/' ? 'Files' : `${segmentsOf(model.path).at(-1)} – Files`,
    body: pageBody(model, new Html(marker)),
  });
  const [before = '', after = ''] = page.split(marker);
  yield before;
  for await (const batch of model.entries) yield batch.map((entry) => row(model, entry)).join('');
  yield after;
}

function pageBody(model: ListingModel, rows: Html): Html {
  return html`<header class="bar">
<nav aria-label="Path">${breadcrumb(model.path)}</nav>
<p class="account">${model.accountName}${model.hasSession && html` <a href="/__svc__/logout" class="button">Sign out</a>`}</p>
</header>
<main>
${model.flash && html`<p class="notice ${model.flash.isError ? 'error' : 'success'}" role="status">${model.flash.text}</p>`}
${(model.mayCreateFolder || model.mayWrite) && tools(model)}
<form method="post" enctype="multipart/form-data">
<table>
<thead><tr><th><span class="hidden">Select</span></th><th>Name</th><th class="number">Size</th><th>Modified</th></tr></thead>
<tbody>${rows}</tbody>
</table>
${actions(model)}
</form>
</main>`;
}

function breadcrumb(path: VirtualPath) {
  let folder = '/' as VirtualPath;
  const links = [html`<a href="${urlPathOf(folder, true)}">Files</a>`];
  for (const name of segmentsOf(path)) {
    folder = memberPath(folder, name);
    links.push(html` / <a href="${urlPathOf(folder, true)}"><bdi>${name}</bdi></a>`);
  }
  return links;
}

function tools(model: ListingModel) {
  return html`<div class="tools">
${
  model.mayWrite &&
  html`<form method="post" enctype="multipart/form-data">
<input type="hidden" name="action" value="upload-file">
<label>Upload files <input type="file" name="upload-file" multiple required></label> <button type="submit" class="primary">Upload</button>
</form>`
}
${
  model.mayCreateFolder &&
  html`<form method="post">
<input type="hidden" name="action" value="create-folder">
<label>New folder <input name="new-folder" required maxlength="255"></label> <button type="submit">Create</button>
</form>`
}
</div>`;
}

function actions(model: ListingModel) {
  return html`<p class="actions">
<button type="submit" name="action" value="download-members">Download as ZIP</button>
${model.mayDelete && html`<button type="submit" name="action" value="delete-members" class="danger">Delete</button>`}
${model.triggers.map((trigger) => html`<button type="submit" name="action" value="${trigger.name}" class="${trigger.style}">${trigger.name}</button>`)}
</p>`;
}

function row(model: ListingModel, entry: Entry): string {
  const url = urlPathOf(memberPath(model.path, entry.name), entry.isFolder);
  const name = escapeHtml(entry.name);
  const time = new Date(entry.modifiedMs).toISOString();
  const size = entry.isFolder ? '–' : sizeText(entry.sizeBytes);
  return `<tr><td><input type="checkbox" name="selected-members" value="${name}" aria-label="${name}"></td><td><a href="${escapeHtml(url)}"${entry.isFolder ? ' class="folder"' : ''}><bdi>${name}</bdi></a></td><td class="number">${size}</td><td><time datetime="${time}">${time.slice(0, 16).replace('T', ' ')}</time></td></tr>\n`;
}

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** A size for people, in powers of 1000. */
function sizeText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  return `${power === 0 ? bytes : (bytes / 1000 ** power).toFixed(1)} ${units[power]}`;
}
