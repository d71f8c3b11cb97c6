import { segmentsOf } from '../../../lib/virtual-path.ts';
import { html } from './html.ts';
import { icon } from './icons.ts';
import { layout } from './layout.ts';
import type { FolderModel } from './listing/listing-model.ts';
import { folderHead } from './listing/listing-page.ts';
import { tools } from './listing/listing-tools.ts';
import type { PageContext } from './page-context.ts';

/** The page of a folder that can be written to but not looked into. */
export function dropBoxPage(context: PageContext, model: FolderModel): string {
  const { language } = context;
  const body = html`<main id="main" data-may="write${model.mayCreateFolder && ' create-folder'}">
${folderHead(context, model)}
<div id="members" tabindex="-1">
${tools(context, model)}
<div class="empty">${icon('upload')}<p class="lead">${language.text('dropBox')}</p><p class="hint">${language.text('dropBoxHint')}</p></div>
</div>
</main>`;
  const title = segmentsOf(model.path).at(-1) ?? language.text('files');
  return layout(context, { title, body, account: model.account, hasScript: true });
}
