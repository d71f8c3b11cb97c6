import { XMLBuilder } from 'fast-xml-parser';

// Matches characters that XML 1.0 §2.2 forbids, even as references. With the flag `u`, a surrogate pair is one character.
const noXmlCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]/gu;

/** Escapes text for XML content and for attributes in double quotes. Drops characters that XML 1.0 forbids. */
export function escapeXml(text: string): string {
  // Most texts need no escaping.
  if (!/[&<>"\r\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]/.test(text)) return text;
  return text
    .replace(noXmlCharacter, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#13;');
}

/** Escapes text like `escapeXml`, but also for attributes in single quotes. */
export function escapeXmlQuoted(text: string): string {
  return escapeXml(text).replaceAll("'", '&apos;');
}

/** The first line of every XML document. */
export const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>\n';

/** A part of an XML document, created by `element`. */
export type XmlNode = Readonly<Record<string, unknown>>;

let builder: XMLBuilder | undefined;

/**
 * Creates an element.
 *
 * @param name an XML name with its prefix
 * @param attributes values by name, including namespace declarations
 */
export function element(name: string, content: string | readonly XmlNode[], attributes?: Readonly<Record<string, string>>): XmlNode {
  const children = typeof content === 'string' ? escapeXmlQuoted(content) : content;
  if (!attributes) return { [name]: children };
  // XML readers turn unescaped line breaks and tabs in attributes into spaces (XML 1.0 §3.3.3).
  const values = Object.entries(attributes).map(([attribute, value]) => [
    attribute,
    escapeXmlQuoted(value).replace(/[\t\n]/g, (character) => `&#${character.charCodeAt(0)};`),
  ]);
  return { [name]: children, ':@': Object.fromEntries(values) };
}

/**
 * Writes elements without white space between them. In code that is frequently executed, templates are used instead, because they are
 * faster.
 */
export function writeXml(nodes: readonly XmlNode[]): string {
  builder ??= new XMLBuilder({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '',
    suppressEmptyNode: true,
    suppressBooleanAttributes: false,
    // `element` has already escaped all text.
    processEntities: false,
    maxNestedTags: 0,
  });
  return builder.build(nodes);
}
