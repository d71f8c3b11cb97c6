import { writeKeyValueList } from '../../lib/list-values.ts';
import { ask, cancelButton } from '../shared/dialogs.ts';
import { make, makeButton } from '../shared/dom.ts';
import { text } from './language.ts';
import { uploadText } from './uploads/upload-text.ts';

/** The fields for metadata; null if the service or the folder accepts none. */
let fields: HTMLFieldSetElement | null = null;

/** Metadata header of each upload. Later answers in the dialog do not change it. */
const given = new WeakMap<object, [name: string, value: string]>();

function inputs(name: string): HTMLInputElement[] {
  return [...(fields?.querySelectorAll<HTMLInputElement>(`[name=${name}]`) ?? [])];
}

function currentValue(): string {
  const values = inputs('metadata-value').map((field) => field.value.trim());
  const items = inputs('metadata-name').map((field, index) => ({ key: field.value.trim(), value: values[index] ?? '' }));
  return writeKeyValueList(items.filter(({ value }) => value !== ''));
}

/**
 * Marks the required fields. A name is required if its value is required or given. Values with `data-needed` are required if the folder
 * requires metadata, or if any value is given.
 */
function updateRequired(): void {
  const values = inputs('metadata-value');
  const isAnyGiven = values.some(({ value }) => value.trim() !== '');
  const mustBeThere = fields?.dataset.required === 'all';
  for (const [index, name] of inputs('metadata-name').entries()) {
    const value = values[index] as HTMLInputElement;
    value.required = value.dataset.needed !== undefined && (mustBeThere || isAnyGiven);
    name.required = value.required || value.value.trim() !== '';
  }
  // Required metadata needs at least one value, even if no key is required.
  if (mustBeThere && !isAnyGiven && !values.some((value) => value.required)) for (const value of values.slice(0, 1)) value.required = true;
}

/** Adds a detail whose name the user enters. The name may match an accepted pattern, or repeat the name of another detail. */
function moreDetails(): HTMLElement {
  const field = (label: string, name: string) =>
    make('label.field', make('span', label), make('input', { name, autocomplete: 'off', maxLength: 1000 }));
  const detail = make(
    'div.detail.free.added',
    field(uploadText('detailName'), 'metadata-name'),
    field(uploadText('detailValue'), 'metadata-value'),
  );
  fields?.append(detail);
  return detail;
}

/** Asks for the metadata of uploads if the service accepts any. The fields keep the last answer. @returns whether to upload */
export async function askMetadata(uploads: readonly object[]): Promise<boolean> {
  fields = document.querySelector<HTMLFieldSetElement>('#metadata');
  if (!fields || uploads.length === 0) return true;
  const home = fields.parentElement;
  const after = fields.nextSibling;
  const more = makeButton(uploadText('moreDetails'), 'plus', () => moreDetails().querySelector('input')?.focus(), 'quiet');
  fields.oninput = updateRequired;
  updateRequired();
  const first = fields.querySelector<HTMLInputElement>('input:not([type=hidden])');
  const answer = await ask({
    title: uploadText('uploadCount', { count: uploads.length }),
    content: [fields, more],
    buttons: [cancelButton(), { value: 'ok', label: text('upload'), kind: 'primary' }],
    ...(first && { focus: first }),
  });
  home?.insertBefore(fields, after);
  for (const detail of fields.querySelectorAll('.added'))
    if (detail.querySelector<HTMLInputElement>('[name=metadata-value]')?.value.trim() === '') detail.remove();
  if (answer !== 'ok') return false;
  const header: [string, string] = [fields.dataset.header ?? '', currentValue()];
  for (const upload of uploads) given.set(upload, header);
  return true;
}

/**
 * Returns the metadata header of an upload. Each character of the value is one byte of UTF-8, because XMLHttpRequest accepts no other
 * characters.
 */
export function metadataHeader(upload: object): [name: string, value: string] | undefined {
  const [name, value] = given.get(upload) ?? [];
  if (!name || !value) return undefined;
  return [name, String.fromCharCode(...new TextEncoder().encode(value))];
}
