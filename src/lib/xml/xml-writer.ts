import { XMLBuilder } from 'fast-xml-parser';
import { escapeXmlQuoted } from './escape-xml.ts';

/** The first line of every document. */
export const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>\n';

/** A part of an XML document, made by `element`. */
export type XmlNode = Readonly<Record<string, unknown>>;

/** Made when the first document is written. */
let builder: XMLBuilder | undefined;

/**
 * An element.
 *
 * @param name with its prefix; has to be an XML name
 * @param content text, or elements
 * @param attributes values by name, namespace declarations too
 */
export function element(name: string, content: string | readonly XmlNode[], attributes?: Readonly<Record<string, string>>): XmlNode {
  const children = typeof content === 'string' ? escapeXmlQuoted(content) : content;
  if (!attributes) return { [name]: children };
  // Line breaks and tabs would become spaces (XML 1.0 §3.3.3).
  const values = Object.entries(attributes).map(([attribute, value]) => [
    attribute,
    escapeXmlQuoted(value).replace(/[\t\n]/g, (character) => `&#${character.charCodeAt(0)};`),
  ]);
  return { [name]: children, ':@': Object.fromEntries(values) };
}

/** Writes elements, in their order, without spaces between them. For what is no hot path: a template is faster. */
export function writeXml(nodes: readonly XmlNode[]): string {
  builder ??= new XMLBuilder({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '',
    suppressEmptyNode: true,
    suppressBooleanAttributes: false,
    // `element` has escaped all text: the builder's own list knows neither line ends nor what XML cannot carry.
    processEntities: false,
    maxNestedTags: 0,
  });
  return builder.build(nodes);
}
