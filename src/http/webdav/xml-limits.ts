/** Most that one document may hold. Elements and attributes of a WebDAV body are few; reading many takes its time. */
export const xmlLimits = {
  elements: 5000,
  attributes: 1000,
  attributesOfOne: 64,
  depth: 50,
  nameCharacters: 256,
  /** Of all text, CDATA sections too, with what is between elements: the parser joins it character by character. */
  textCharacters: 256 * 1024,
  /** Comments, CDATA sections and processing instructions. */
  opaqueParts: 1000,
} as const;

/** What stands between a beginning and its end, and holds no elements. */
const opaque = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const;

/**
 * Looks once over an XML document, before a parser that builds a tree of it gets it.
 *
 * @returns why it is refused: it holds too much, something in it has no end, or its root is not alone; undefined when it may be parsed
 */
export function xmlRefusal(text: string): string | undefined {
  let elements = 0;
  let attributes = 0;
  let depth = 0;
  let textCharacters = 0;
  let opaqueParts = 0;
  let end = 0;
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at)) {
    if (depth === 0 && (hasText(text, end, at) || text.startsWith('<![CDATA[', at))) return textAroundRoot;
    textCharacters += at - end;
    const [begin, mark] = opaque.find(([start]) => text.startsWith(start, at)) ?? ['<', '>'];
    if (begin !== '<' || text[at + 1] === '/') {
      const start = at;
      if (begin === '<') depth--;
      else if (++opaqueParts > xmlLimits.opaqueParts) return `More than ${xmlLimits.opaqueParts} comments and sections.`;
      at = text.indexOf(mark, at + begin.length);
      if (at < 0) return `"${begin}" has no end.`;
      end = at + mark.length;
      if (begin === '<![CDATA[') textCharacters += end - start;
      if (textCharacters > xmlLimits.textCharacters) return `More than ${xmlLimits.textCharacters} characters of text.`;
      continue;
    }
    const tag = tagAt(text, at);
    if (!tag) return 'A tag has no end.';
    shortName.lastIndex = at;
    if (!shortName.test(text)) return `A name of more than ${xmlLimits.nameCharacters} characters.`;
    attributes += tag.attributes;
    if (++elements > xmlLimits.elements) return `More than ${xmlLimits.elements} elements.`;
    if (tag.attributes > xmlLimits.attributesOfOne) return `An element with more than ${xmlLimits.attributesOfOne} attributes.`;
    if (attributes > xmlLimits.attributes) return `More than ${xmlLimits.attributes} attributes.`;
    if (!tag.isEmpty && ++depth > xmlLimits.depth) return `Deeper than ${xmlLimits.depth} elements.`;
    at = tag.end;
    end = tag.end + 1;
  }
  return hasText(text, end, text.length) ? textAroundRoot : undefined;
}

const textAroundRoot = 'There is text around the root.';

function hasText(text: string, start: number, end: number): boolean {
  return /[^ \t\r\n]/.test(text.slice(start, end));
}

/** The name of an element, short enough: the parser keeps the names of all elements around one, for each anew. */
const shortName = new RegExp(`<[^\\s>]{0,${xmlLimits.nameCharacters}}[\\s>]`, 'y');

/** What matters in a start tag: its end, values, and what makes an attribute although it has no value. */
const tagMark = /["'>=]|\s(?=[^\s"'>=/])/g;

/** @returns where a start tag ends, and what it has; undefined when it has no end */
function tagAt(text: string, start: number): { end: number; attributes: number; isEmpty: boolean } | undefined {
  let values = 0;
  let names = 0;
  let signs = 0;
  for (let at = start; ; at++) {
    tagMark.lastIndex = at;
    const mark = tagMark.exec(text);
    if (!mark) return undefined;
    at = mark.index;
    if (mark[0] === '>') return { end: at, attributes: Math.max(values, names, signs), isEmpty: text[at - 1] === '/' };
    if (mark[0] === '=') signs++;
    else if (mark[0] !== '"' && mark[0] !== "'") names++;
    else {
      values++;
      at = text.indexOf(mark[0], at + 1);
      if (at < 0) return undefined;
    }
  }
}
