import { fileLook } from '../../../lib/file-looks.ts';
import { memberPath, type VirtualPath } from '../../../lib/virtual-path.ts';
import { urlPathOf } from '../../request/request-target.ts';
import { escapeFormValue, Html, html, nameHtml } from './html.ts';
import { icon } from './icons.ts';
import { layout, type PageModel } from './layout.ts';
import type { PageContext } from './page-context.ts';

/** A member that is about to be deleted. */
export interface MemberToDelete {
  name: string;
  /** Undefined when it is gone already; its size, when that may not be told. */
  entry: { isFolder: boolean; sizeBytes: number | undefined } | undefined;
}

/** What the page with the question before a deletion shows. */
export interface ConfirmModel {
  folder: VirtualPath;
  members: readonly MemberToDelete[];
  account: PageModel['account'];
}

/** The question before members are deleted, with all of them listed. */
export function confirmPage(context: PageContext, model: ConfirmModel): string {
  const { language } = context;
  const there = model.members.filter((member) => member.entry);
  const body = html`<main class="card roomy" id="main">
<h1>${language.text('deleteQuestion', { count: there.length })}</h1>
<ul class="doomed">${model.members.map((member) => memberLine(context, model.folder, member))}</ul>
<p>${language.text('deleteWarning')}</p>
<form method="post" class="row">
<input type="hidden" name="action" value="delete-members">
${there.map(({ name }) => new Html(`<input type="hidden" name="selected-members" value="${escapeFormValue(name)}">`))}
<a class="button" href="${urlPathOf(model.folder, true)}">${language.text('cancel')}</a>
${there.length > 0 && html`<button type="submit" class="primary danger">${icon('trash')}${language.text('delete')}</button>`}
</form>
</main>`;
  return layout(context, { title: language.text('delete'), body, account: model.account });
}

function memberLine({ language }: PageContext, folder: VirtualPath, { name, entry }: MemberToDelete) {
  const shown = new Html(`<bdi>${nameHtml(name)}</bdi>`);
  if (!entry) return html`<li><span class="name i">${shown}</span> <span class="hint">${language.text('missing')}</span></li>`;
  const about = entry.isFolder ? language.text('withContent') : entry.sizeBytes === undefined ? '' : language.size(entry.sizeBytes);
  const url = urlPathOf(memberPath(folder, name), entry.isFolder);
  return html`<li><a class="name i ${entry.isFolder ? 'folder' : fileLook(name)}" href="${url}">${shown}</a> <span class="hint">${about}</span></li>`;
}
