import { type Html, html } from './html.ts';
import type { ListingModel } from './listing/listing-model.ts';
import type { Language } from './locales/language.ts';

type Key = NonNullable<ListingModel['metadata']>['keys'][number];

/** Keys that are names, not patterns of names (docs/spec/authentication.md#expressions). */
const literalKey = /^[^*?[\]|!/]+$/;

/** Bounds of what one field takes, in characters. */
const mostCharacters = 1000;

/**
 * The fields for the metadata of uploads: one for each key that the service names, and one with a name to fill in for each pattern, or for any key.
 * A form sends names and values in the same order; they stand before the files, as a service has to know the metadata first.
 */
export function metadataFields(language: Language, metadata: NonNullable<ListingModel['metadata']>): Html {
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

/** With an optional header required keys only count when any is given: the script watches over that, and the service. */
function field(name: string, isRequired: boolean, isHeaderRequired: boolean) {
  return html`<input name="${name}" autocomplete="off" maxlength="${mostCharacters}"${isRequired && html` data-needed`}${isRequired && isHeaderRequired && html` required`}>`;
}
