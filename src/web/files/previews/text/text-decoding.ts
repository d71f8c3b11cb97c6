/**
 * The text of the beginning of a file: in Unicode, else as Western European text of old (windows-1252, which Latin-1 is part of).
 *
 * @returns undefined for what is no text
 */
export function decodeText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const utf16 = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
  if (utf16 !== undefined) return new TextDecoder(utf16).decode(bytes);
  if (bytes.includes(0)) return undefined;
  try {
    // The end may be in the middle of a character.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
