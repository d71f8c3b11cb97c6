// Matches characters that XML 1.0 §2.2 forbids, even as references. Because of the flag `u`, a surrogate pair counts as one character.
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
