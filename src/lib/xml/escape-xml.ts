// Characters that XML 1.0 §2.2 allows nowhere, not even as references. `u` treats a surrogate pair as one character.
const noXmlCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]/gu;

/** Escapes text for XML content and for attributes in double quotes; drops characters that XML 1.0 cannot carry. */
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

/** Escapes text for attributes in quotes of either kind too. */
export function escapeXmlQuoted(text: string): string {
  return escapeXml(text).replaceAll("'", '&apos;');
}
