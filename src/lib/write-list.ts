/** Writes a list of `key=value` items as `parseKeyValueList` reads it; each item is quoted. */
export function writeKeyValueList(items: readonly { key: string; value: string }[]): string {
  return items.map(({ key, value }) => `"${`${key}=${value}`.replaceAll('"', '""')}"`).join(', ');
}
