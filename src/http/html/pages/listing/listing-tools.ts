import { type Html, html, icon } from '../../../../lib/html.ts';
import type { VirtualPath } from '../../../../lib/virtual-path.ts';
import type { Language } from '../locales/language.ts';
import type { PageContext } from '../page.ts';
import type { FolderModel, ListingModel } from './listing-model.ts';

type Key = NonNullable<ListingModel['metadata']>['keys'][number];

/** Matches keys that are plain names, not patterns (docs/spec/authentication.md#expressions). */
const literalKey = /^[^*?[\]|!/]+$/;

const maxCharacters = 1000;

/**
 * The fields for the metadata of uploads. A key that the configuration names has one field, for its value. For a pattern, or if any key is
 * allowed, there is a second field for the name of the key. The fields precede the file field in the form, because the service needs the
 * metadata before the content.
 */
function metadataFields(language: Language, metadata: NonNullable<ListingModel['metadata']>): Html {
  const named = metadata.keys.filter(({ pattern }) => literalKey.test(pattern));
  const patterns = metadata.keys.filter(({ pattern }) => !literalKey.test(pattern));
  const isAny = metadata.keys.length === 0;
  const mustBeThere = metadata.required ? 'all' : named.length + patterns.length > 0 ? 'together' : 'none';
  return html`<fieldset class="metadata" id="metadata" data-header="${metadata.header}" data-required="${mustBeThere}">
<legend>${language.text('metadata')}</legend>
${named.map((key) => namedField(language, key, metadata.required))}
${patterns.map((key) => freeField(language, key, metadata.required))}
${isAny && freeField(language, { pattern: '', required: metadata.required }, metadata.required)}
</fieldset>
`;
}

function namedField(language: Language, { pattern, required }: Key, isHeaderRequired: boolean) {
  const label = language.text(required ? 'requiredKey' : 'optionalKey', { name: pattern });
  return html`<div class="detail"><input type="hidden" name="metadata-name" value="${pattern}">
<label class="field"><span>${label}</span> ${field('metadata-value', required, isHeaderRequired)}</label></div>
`;
}

function freeField(language: Language, { pattern, required }: Key, isHeaderRequired: boolean) {
  const label = pattern === '' ? language.text('detailName') : language.text('detailNameLike', { name: pattern });
  const marked = required ? language.text('requiredKey', { name: label }) : label;
  return html`<div class="detail free"><label class="field"><span>${marked}</span> ${field('metadata-name', required, isHeaderRequired)}</label>
<label class="field"><span>${language.text('detailValue')}</span> ${field('metadata-value', required, isHeaderRequired)}</label></div>
`;
}

/**
 * Renders an input. If the metadata header is optional, a required key is needed only when the user fills in another key. Both the script
 * and the service check that.
 */
function field(name: string, isRequired: boolean, isHeaderRequired: boolean) {
  return html`<input name="${name}" autocomplete="off" maxlength="${maxCharacters}"${isRequired && html` data-needed`}${isRequired && isHeaderRequired && html` required`}>`;
}

/**
 * Renders the tools of a folder as forms that work without a script. The script replaces the forms of class `plain`.
 *
 * @param more further tools
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
</div>
${model.mayWrite && limits(language, model)}`;
}

function limits(language: Language, { mayReplace, retainDays }: FolderModel) {
  const lines = [
    ...(mayReplace ? [] : [language.text('addOnly')]),
    ...(retainDays > 0 ? [language.text('retainedFor', { count: retainDays })] : []),
  ];
  return lines.length > 0 && html`<p class="hint">${lines.join(' ')}</p>`;
}

/**
 * Renders the form that searches a folder with everything below it, or all folders.
 *
 * @param asked the search that the form shows
 * @param all label of the field, for pages that show no folder; such a form searches all files of the account
 */
export function searchForm({ language }: PageContext, path: VirtualPath, asked = { text: '', isEverywhere: false }, all?: string): Html {
  const hint = all ?? language.text('search');
  const option = (value: string, label: string, isChosen: boolean) =>
    html`<option value="${value}"${isChosen && html` selected`}>${label}</option>`;
  const scope = html`<select name="scope" aria-label="${language.text('scope')}">
${option('', language.text('scopeHere'), !asked.isEverywhere)}${option('everywhere', language.text('scopeEverywhere'), asked.isEverywhere)}
</select>`;
  return html`<form class="search" role="search" method="get"${all !== undefined && html` action="/home/"`}>
<button class="quiet" title="${hint}"><span class="hidden">${hint}</span></button>
<input type="search" class="filter" name="search" value="${asked.text}" placeholder="${hint}" aria-label="${hint}" required maxlength="255" autocomplete="off">
${path !== '/' && scope}
</form>`;
}

/** The buttons for the selected members. "Delete" opens a page that asks for confirmation; the action `delete-members` does not ask. */
export function memberActions({ language }: PageContext, model: Pick<ListingModel, 'mayDelete' | 'triggers'>) {
  return html`<div class="actions" id="actions">
<button type="submit" name="action" value="download-members" title="${language.text('downloadZip')}">${icon('download')}<span class="wide">${language.text('downloadZip')}</span></button>
${model.mayDelete && html`<button type="submit" name="action" value="confirm-delete" class="danger" title="${language.text('delete')}">${icon('trash')}<span class="wide">${language.text('delete')}</span></button>`}
${model.triggers.map((trigger) => html`<button type="submit" name="action" value="${trigger.name}" class="trigger ${trigger.style}">${trigger.name}</button>`)}
</div>`;
}
