import { type Html, html } from '../html.ts';
import { icon } from '../icons.ts';
import { metadataFields } from '../metadata-fields.ts';
import type { PageContext } from '../page-context.ts';
import type { FolderModel, ListingModel } from './listing-model.ts';

/**
 * What can be done in a folder: plain forms, which the script replaces (`plain`) or takes over.
 *
 * @param more what the page has besides
 */
export function tools(context: PageContext, model: FolderModel, more?: Html) {
  const { language } = context;
  return html`<div class="tools" id="tools">
${
  model.mayWrite &&
  html`<form class="plain" id="upload" method="post" enctype="multipart/form-data">
<input type="hidden" name="action" value="upload-file">
${model.metadata !== null && metadataFields(language, model.metadata)}
<label class="field"><span>${language.text('uploadFiles')}</span> <input type="file" name="upload-file" multiple required></label>
<button type="submit" class="primary">${icon('upload')}${language.text('upload')}</button>
</form>`
}
${
  model.mayCreateFolder &&
  html`<form class="plain" method="post">
<input type="hidden" name="action" value="create-folder">
<label class="field"><span>${language.text('newFolder')}</span> <input name="new-folder" required maxlength="255" autocomplete="off"></label>
<button type="submit">${icon('newFolder')}${language.text('create')}</button>
</form>`
}
${more}
</div>`;
}

/** The field to search a folder and all below it. @param text what was searched for before */
export function searchForm({ language }: PageContext, text: string): Html {
  const hint = language.text('searchHint');
  return html`<form class="search" role="search" method="get">
<input type="search" class="filter" name="search" value="${text}" placeholder="${hint}" aria-label="${hint}" required maxlength="255" autocomplete="off">
<button class="quiet" title="${hint}">${icon('search')}<span class="hidden">${hint}</span></button>
</form>`;
}

/** What can be done with the selected members. Deleting asks on a page of its own; the action `delete-members` deletes at once. */
export function memberActions({ language }: PageContext, model: ListingModel) {
  return html`<div class="actions" id="actions">
<button type="submit" name="action" value="download-members" title="${language.text('downloadZip')}">${icon('download')}<span class="wide">${language.text('downloadZip')}</span></button>
${model.mayDelete && html`<button type="submit" name="action" value="confirm-delete" class="danger" title="${language.text('delete')}">${icon('trash')}<span class="wide">${language.text('delete')}</span></button>`}
${model.triggers.map((trigger) => html`<button type="submit" name="action" value="${trigger.name}" class="trigger ${trigger.style}">${trigger.name}</button>`)}
</div>`;
}
