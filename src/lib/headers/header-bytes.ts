/**
 * The text of bytes of a header or status line, which Node.js delivers as latin1: UTF-8 where they are that.
 *
 * @returns undefined where they are not
 */
export function utf8OfLatin1(bytes: string): string | undefined {
  if (!/[\u0080-\u00ff]/.test(bytes)) return bytes;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}
