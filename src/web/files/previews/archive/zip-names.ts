import { crc32 } from './crc32.ts';

/** Code page 437 from 0x80, in which names are that are not in UTF-8 (APPNOTE D.1). */
const upperHalf =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0';

/**
 * The name of a member. Many programs write UTF-8 without saying so.
 *
 * @param unicodeName Info-ZIP's extra field with the name in UTF-8, which counts while it belongs to this name (APPNOTE 4.6.9)
 */
export function memberName(bytes: Uint8Array, isUtf8: boolean, unicodeName: DataView | undefined): string {
  if (unicodeName && unicodeName.byteLength > 5 && unicodeName.getUint32(1, true) === crc32(bytes, 0))
    return decode(new Uint8Array(unicodeName.buffer, unicodeName.byteOffset + 5, unicodeName.byteLength - 5));
  if (isUtf8) return decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => (byte < 0x80 ? String.fromCharCode(byte) : upperHalf[byte - 0x80])).join('');
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
