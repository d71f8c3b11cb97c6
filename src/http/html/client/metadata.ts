/** The field for the metadata of uploads; there where the service takes any. */
const field = document.querySelector<HTMLInputElement>('#metadata');

/** Whether files may be uploaded as far as metadata goes; if not, the browser says what is missing. */
export function hasMetadata(): boolean {
  return field === null || field.reportValidity();
}

/** The header that carries the metadata, and its value as bytes of UTF-8: XMLHttpRequest takes no other characters. */
export function metadataHeader(): [name: string, value: string] | undefined {
  const value = field?.value.trim();
  if (!value) return undefined;
  return [field?.dataset.header ?? '', String.fromCharCode(...new TextEncoder().encode(value))];
}
