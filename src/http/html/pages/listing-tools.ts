import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import type { FolderModel, ListingModel } from './listing-model.ts';
import type { PageContext } from './page-context.ts';

/**
 * What can be done in a folder: plain forms, which the script replaces (`plain`) or takes over.
 *
 * @param more what the page has besides
 */
export function tools(context: PageContext, model: FolderModel, more?: Html) {
  const { language } = context;
  return html`${model.mayWrite && metadataField(context, model)}<div class="tools" id="tools">
${
  model.mayWrite &&
  html`<form class="plain" id="upload" method="post" enctype="multipart/form-data">
<input type="hidden" name="action" value="upload-file">
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

/**
 * The field for the metadata of uploads, if the service takes any. It stands before the form that it belongs to, since a service has to know the
 * metadata before the files.
 */
function metadataField({ language }: PageContext, { metadata }: FolderModel) {
  if (!metadata) return undefined;
  const keys = metadata.keys.map(({ pattern, required }) => language.text(required ? 'requiredKey' : 'optionalKey', { name: pattern }));
  const hint = [language.text('metadataHint'), ...keys].join(' · ');
  return html`<div class="field metadata">
<label for="metadata">${language.text('metadata')}</label>
<input id="metadata" name="metadata" form="upload" data-header="${metadata.header}" autocomplete="off" spellcheck="false" maxlength="4000" aria-describedby="metadata-hint"${metadata.required && html` required`}>
<span class="hint" id="metadata-hint">${hint}</span>
</div>
`;
}

/** What can be done with the selected members. Deleting asks on a page of its own; the action `delete-members` deletes at once. */
export function memberActions({ language }: PageContext, model: ListingModel) {
  return html`<div class="actions" id="actions">
<button type="submit" name="action" value="download-members">${icon('download')}<span class="wide">${language.text('downloadZip')}</span></button>
${model.mayDelete && html`<button type="submit" name="action" value="confirm-delete" class="danger">${icon('trash')}<span class="wide">${language.text('delete')}</span></button>`}
${model.triggers.map((trigger) => html`<button type="submit" name="action" value="${trigger.name}" class="trigger ${trigger.style}">${trigger.name}</button>`)}
</div>`;
}
