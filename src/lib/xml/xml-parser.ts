import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { ServiceError } from '../errors.ts';

/**
 * Limits of one document. Bodies in WebDAV have only few elements and attributes. A document with more of them would take long to parse.
 */
const xmlLimits = {
  elements: 5000,
  attributes: 1000,
  attributesOfOne: 64,
  depth: 50,
  nameCharacters: 256,
  /**
   * Maximum length of all text, including CDATA sections and white space. It is low, because the parser joins text character by character.
   */
  textCharacters: 256 * 1024,
  /** Maximum number of comments, CDATA sections and processing instructions. */
  opaqueParts: 1000,
} as const;

/** The beginning and end of parts that contain no elements. */
const opaque = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const;

/**
 * Scans an XML document before it is parsed.
 *
 * @returns the reason to refuse it (a limit, a part without an end, or text outside the root); undefined if it can be parsed
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
    if (!tag.isEmpty && ++depth > xmlLimits.depth) return `Elements are nested deeper than ${xmlLimits.depth} levels.`;
    at = tag.end;
    end = tag.end + 1;
  }
  return hasText(text, end, text.length) ? textAroundRoot : undefined;
}

const textAroundRoot = 'There is text around the root.';

function hasText(text: string, start: number, end: number): boolean {
  return /[^ \t\r\n]/.test(text.slice(start, end));
}

/**
 * Matches a start tag with a short name. Long names are refused, because the parser stores the names of all ancestors with each element.
 */
const shortName = new RegExp(`<[^\\s>]{0,${xmlLimits.nameCharacters}}[\\s>]`, 'y');

/** In a start tag, matches its end, quotes, equals signs, and the space before the name of an attribute. */
const tagMark = /["'>=]|\s(?=[^\s"'>=/])/g;

/** Finds the end of a start tag, and counts its attributes. @returns undefined for a start tag without an end */
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

/** An element of a request body, with its namespace resolved. */
export interface XmlElement {
  /** Empty if the element has no namespace. */
  namespace: string;
  name: string;
  children: XmlElement[];
  /** Text of the element itself, without the text of its children. */
  text: string;
}

// The parser keeps the order of nodes and interprets no values. It need not replace entities: declarations of entities have already been
// refused, and `unescaped` replaces the predefined ones.
const parserOptions = {
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  processEntities: false,
  cdataPropName: '#cdata',
  maxNestedTags: xmlLimits.depth,
} as const;

/** The parser. It is created when the first body arrives. */
let parser: XMLParser | undefined;

type Node = Record<string, unknown>;

/** The namespaces that an element declares, by prefix, with a reference to the scope around it. */
interface Scope {
  declared: ReadonlyMap<string, string>;
  outer: Scope | undefined;
}

const xmlScope: Scope = { declared: new Map([['xml', 'http://www.w3.org/XML/1998/namespace']]), outer: undefined };

/**
 * Parses an XML document with namespaces (Namespaces in XML 1.0).
 *
 * @throws ServiceError `bad-request` if it is not well-formed, has a document type, or exceeds one of `xmlLimits`
 */
export function parseXml(text: string): XmlElement {
  if (/<!DOCTYPE|<!ENTITY/i.test(text)) throw malformed('Document types and entities are not accepted.');
  if (/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(text)) throw malformed('It has characters that XML does not allow.');
  const refusal = xmlRefusal(text);
  if (refusal !== undefined) throw malformed(refusal);
  const verdict = XMLValidator.validate(text);
  if (verdict !== true) throw malformed(verdict.err.msg);
  let nodes: Node[];
  try {
    parser ??= new XMLParser(parserOptions);
    nodes = parser.parse(text) as Node[];
  } catch (error) {
    throw malformed((error as Error).message);
  }
  const roots = nodes.filter((node) => elementName(node) !== undefined);
  const [root] = roots;
  if (!root || roots.length > 1) throw malformed('There must be one root element.');
  return buildElement(root, xmlScope);
}

function elementName(node: Node): string | undefined {
  return Object.keys(node).find((key) => key !== ':@' && !key.startsWith('#') && !key.startsWith('?'));
}

function buildElement(node: Node, outer: Scope): XmlElement {
  const qualified = elementName(node) as string;
  const attributes = Object.entries(node[':@'] ?? {}).map(([name, value]): [string, string] => [name, attributeValue(String(value))]);
  const scope = extendScope(attributes, outer);
  for (const [attribute] of attributes) if (!attribute.startsWith('xmlns')) resolve(attribute, scope, true);
  const children: XmlElement[] = [];
  let text = '';
  for (const child of node[qualified] as Node[]) {
    if (elementName(child) !== undefined) children.push(buildElement(child, scope));
    else if (typeof child['#text'] === 'string') text += unescaped(child['#text']);
    else if (Array.isArray(child['#cdata'])) text += (child['#cdata'] as Node[]).map((part) => part['#text'] ?? '').join('');
  }
  return { ...resolve(qualified, scope, false), children, text };
}

function extendScope(attributes: readonly [string, string][], outer: Scope): Scope {
  const declared = new Map<string, string>();
  for (const [name, value] of attributes) {
    if (name !== 'xmlns' && !name.startsWith('xmlns:')) continue;
    const prefix = name.slice('xmlns:'.length);
    // A declaration must not remove a prefix, declare `xmlns`, or bind `xml` to another namespace (Namespaces in XML 1.0 §5).
    if (prefix !== '' && (value === '' || prefix === 'xmlns' || (prefix === 'xml' && value !== xmlScope.declared.get('xml'))))
      throw malformed(`The namespace prefix "${shown(prefix)}" is declared wrongly.`);
    if (name.endsWith(':')) throw malformed('A namespace declaration has no prefix.');
    declared.set(prefix, value);
  }
  return declared.size === 0 ? outer : { declared, outer };
}

function findNamespace(prefix: string, scope: Scope): string | undefined {
  for (let place: Scope | undefined = scope; place; place = place.outer) {
    const namespace = place.declared.get(prefix);
    if (namespace !== undefined) return namespace;
  }
  return undefined;
}

function resolve(qualified: string, scope: Scope, isAttribute: boolean): { namespace: string; name: string } {
  const parts = qualified.split(':');
  const [prefix, name] = parts.length === 1 ? ['', qualified] : (parts as [string, string]);
  if (parts.length > 2 || !/^[\p{L}_][\p{L}\p{N}\p{M}._\u00b7-]*$/u.test(name)) throw malformed(`"${shown(qualified)}" is not a name.`);
  if (prefix === '') return { namespace: isAttribute ? '' : (findNamespace('', scope) ?? ''), name };
  const namespace = findNamespace(prefix, scope);
  if (namespace === undefined) throw malformed(`The namespace prefix "${shown(prefix)}" is not declared.`);
  return { namespace, name };
}

const characterNames: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/**
 * Replaces character references and the five predefined entities of XML. Other entities are refused, because they need a document type.
 */
function unescaped(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d+)|#x([0-9a-fA-F]+)|([^;&\s]*));?/g, (reference, decimal?: string, hex?: string, name?: string) => {
    const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : undefined;
    const character = code === undefined ? characterNames[name ?? ''] : isCharacter(code) ? String.fromCodePoint(code) : undefined;
    if (character === undefined || !reference.endsWith(';')) throw malformed(`The reference "${shown(reference)}" is not known.`);
    return character;
  });
}

function attributeValue(text: string): string {
  if (text.includes('<')) throw malformed('An attribute has a "<".');
  return unescaped(text);
}

/** Returns whether XML allows a code point, as a character or as a reference (XML 1.0 §2.2). */
function isCharacter(code: number): boolean {
  if (code < 0x20) return code === 0x09 || code === 0x0a || code === 0x0d;
  return code <= 0xd7ff || (code >= 0xe000 && code <= 0xfffd) || (code >= 0x10000 && code <= 0x10ffff);
}

// Shortens a text of the request, because an event and a reply will contain it.
function shown(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

function malformed(reason: string): ServiceError {
  return new ServiceError('bad-request', `The request body is not valid XML: ${reason}`);
}
