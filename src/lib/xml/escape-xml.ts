// XML 1.0 §2.2: what is no Char cannot stand in a document, not even as a reference. `u` takes the halves of a pair for one character.
const noXmlCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]/gu;

/** Escapes text for XML content and for attributes in double quotes; what XML 1.0 cannot carry is dropped. */
export function escapeXml(text: string): string {
  // Most texts need nothing.
  if (!/[&<>"\r\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]/.test(text)) return text;
  return text
    .replace(noXmlCharacter, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#13;');
}

/** The same for attributes in quotes of either kind, as templates may have them. */
export function escapeXmlQuoted(text: string): string {
  return escapeXml(text).replaceAll("'", '&apos;');
}
