/** The most common of HTML's names of characters. */
const characters: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  bull: '•',
  middot: '·',
  deg: '°',
  times: '×',
  euro: '€',
  larr: '←',
  rarr: '→',
  uarr: '↑',
  darr: '↓',
};

/** Writes HTML's names and numbers of characters as these. */
export function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi,
    (whole, decimal?: string, hexadecimal?: string, name?: string) => {
      if (name !== undefined) return Object.hasOwn(characters, name) ? (characters[name] as string) : whole;
      const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hexadecimal as string, 16);
      return code === 0 || code > 0x10ffff ? '\ufffd' : String.fromCodePoint(code);
    },
  );
}

/** Elements whose content nobody is to read. */
const silent = /^<(script|style|template|!--)/i;
const endings: Readonly<Record<string, RegExp>> = {
  script: /<\/script/gi,
  style: /<\/style/gi,
  template: /<\/template/gi,
  '!--': /--/g,
};

/** The text of HTML without its tags, comments, scripts and styles. In the end it is a text, whatever is left. */
export function withoutTags(html: string): string {
  let text = '';
  for (let at = 0; ; ) {
    const start = html.indexOf('<', at);
    if (start < 0) return text + html.slice(at);
    text += html.slice(at, start);
    const name = silent.exec(html.slice(start, start + 10))?.[1]?.toLowerCase();
    const end = html.indexOf('>', name === undefined ? start : endOf(html, name, start));
    if (end < 0) return text;
    at = end + 1;
  }
}

/** Where the end of a silent element stands; the text's end when it has none. */
function endOf(html: string, name: string, start: number): number {
  const ending = endings[name] as RegExp;
  ending.lastIndex = start + name.length + 1;
  return ending.exec(html)?.index ?? html.length;
}
