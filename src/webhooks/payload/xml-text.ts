const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;', '\r': '&#13;' };

// XML 1.0 §2.2: what is no Char cannot stand in a document, not even as a reference.
const noXmlCharacter =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Text as XML character data or attribute value; characters that XML cannot carry are dropped (docs/spec/delivery.md#xml-bodies). */
export function xmlText(text: string): string {
  return text.replace(noXmlCharacter, '').replace(/[&<>"'\r]/g, (character) => escapes[character] as string);
}

/** Text as an attribute value in which line breaks and tabs survive (XML 1.0 §3.3.3). */
export function xmlAttribute(text: string): string {
  return xmlText(text).replace(/[\t\n]/g, (character) => `&#${character.charCodeAt(0)};`);
}
