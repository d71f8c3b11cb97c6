import { ServiceError } from './errors.ts';

/** Writes a list of `key=value` items that `parseKeyValueList` can read. Every item is quoted. */
export function writeKeyValueList(items: readonly { key: string; value: string }[]): string {
  return items.map(({ key, value }) => `"${`${key}=${value}`.replaceAll('"', '""')}"`).join(', ');
}

/**
 * Splits a comma-separated list with the quoting of RFC 4180. An item in double quotes may contain commas and doubled quotes.
 * Blanks around items are removed. Empty items are kept.
 *
 * @throws ServiceError `metadata-invalid` if a quote is not closed or is in the middle of an item
 */
export function parseList(text: string): string[] {
  const items: string[] = [];
  // Each alternative begins with a different character, so the time is linear in the length of the client's text.
  const item = /[ \t]*(?:"((?:[^"]|"")*)"[ \t]*|([^",\t ][^",]*|))(?:,|$)/y;
  for (;;) {
    const match = item.exec(text);
    if (!match) throw new ServiceError('metadata-invalid', 'The list has a quote that is not closed or stands inside an item.');
    items.push(match[1] === undefined ? (match[2] as string).trim() : match[1].replaceAll('""', '"'));
    if (!match[0].endsWith(',')) return items;
  }
}

/**
 * Splits a list of `key=value` items. The quotes may enclose a whole item (`"key=a, b"`) or only its value (`key="a, b"`).
 *
 * @throws ServiceError `metadata-invalid` for an item without `=`, an empty key, or bad quoting
 */
export function parseKeyValueList(text: string): { key: string; value: string }[] {
  // `key="a, b"` becomes `"key=a, b"`. Items that are quoted as a whole are not changed.
  const normalised = text.replace(
    /"(?:[^"]|"")*"|(?<=^|,)([ \t]*)([^",=\s][^",=]*)=[ \t]*"((?:[^"]|"")*)"/g,
    (found, blanks, key, value) => (key === undefined ? found : `${blanks}"${key}=${value}"`),
  );
  return parseList(normalised)
    .filter((item, index, items) => item !== '' || items.length > 1 || index > 0)
    .map((item) => {
      const equals = item.indexOf('=');
      const key = item.slice(0, Math.max(equals, 0)).trim();
      if (key === '') throw new ServiceError('metadata-invalid', `The item "${item}" is not of the form key=value.`);
      return { key, value: item.slice(equals + 1).trim() };
    });
}
