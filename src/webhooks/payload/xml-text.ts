import { escapeXml } from '../../lib/escape-xml.ts';

/** Text as XML character data or attribute value; characters that XML cannot carry are dropped (docs/spec/delivery.md#xml-bodies). */
export function xmlText(text: string): string {
  return escapeXml(text).replaceAll("'", '&apos;');
}

/** Text as an attribute value in which line breaks and tabs survive (XML 1.0 §3.3.3). */
export function xmlAttribute(text: string): string {
  return xmlText(text).replace(/[\t\n]/g, (character) => `&#${character.charCodeAt(0)};`);
}
