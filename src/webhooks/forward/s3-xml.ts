const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The contents of all elements with a name in an S3 reply. In these replies, elements with the same name are never nested. */
export function xmlItems(text: string, name: string): string[] {
  const items: string[] = [];
  for (let at = 0; ; ) {
    const begin = text.indexOf(`<${name}>`, at);
    const end = begin < 0 ? -1 : text.indexOf(`</${name}>`, begin);
    if (end < 0) return items;
    items.push(text.slice(begin + name.length + 2, end));
    at = end;
  }
}

/** The text of the first element with a name; undefined if there is none. */
export function xmlText(text: string, name: string): string | undefined {
  const begin = text.indexOf(`<${name}>`);
  const end = begin < 0 ? -1 : text.indexOf(`</${name}>`, begin);
  if (end < 0) return undefined;
  return text
    .slice(begin + name.length + 2, end)
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi, (whole, decimal, hex, entity) => {
      if (entity !== undefined) return entities[String(entity).toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    });
}
