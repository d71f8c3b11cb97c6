import { crc32 } from './crc32.ts';
import { ZipFault } from './zip-fault.ts';

/** Code page 437 from 0x80, in which names are that are not in UTF-8 (APPNOTE D.1). */
const upperHalf =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0';

/**
 * The name of a member. Many programs write UTF-8 without saying so.
 *
 * @param unicodeName Info-ZIP's extra field with the name in UTF-8, which counts while it belongs to this name (APPNOTE 4.6.9)
 */
function memberName(bytes: Uint8Array, isUtf8: boolean, unicodeName: DataView | undefined): string {
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

/** A member of an archive, as the central directory has it. */
export interface ZipMember {
  /** With `/` between folders, and at the end of one. */
  name: string;
  isFolder: boolean;
  /** Of the content, as announced. */
  sizeBytes: number;
  packedBytes: number;
  /** Unix time in milliseconds; undefined when it is no time. */
  modifiedMs: number | undefined;
  /** How it is packed (APPNOTE 4.4.5): 0 not at all, 8 by DEFLATE. */
  method: number;
  isEncrypted: boolean;
  /** CRC-32 of the content. */
  crc: number;
  /** Where its local header stands, from the archive's beginning. */
  offset: number;
}

const signature = 0x02014b50;
const headBytes = 46;

/** No record of a member is longer: three texts of 16 bits. */
export const maxRecordBytes = headBytes + 3 * 0xffff;

/**
 * Reads records of members from a piece of the central directory (APPNOTE 4.3.12).
 *
 * @param most members that are read
 * @returns the members whose records are whole, and the bytes that these take
 * @throws ZipFault when something else stands there
 */
export function readMembers(bytes: Uint8Array, most: number): { members: ZipMember[]; usedBytes: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const members: ZipMember[] = [];
  let at = 0;
  while (members.length < most && at + headBytes <= bytes.length) {
    if (view.getUint32(at, true) !== signature) throw new ZipFault('damaged');
    const nameEnd = at + headBytes + view.getUint16(at + 28, true);
    const extraEnd = nameEnd + view.getUint16(at + 30, true);
    const end = extraEnd + view.getUint16(at + 32, true);
    if (end > bytes.length) break;
    members.push(memberAt(view, bytes, at, nameEnd, extraEnd));
    at = end;
  }
  return { members, usedBytes: at };
}

function memberAt(view: DataView, bytes: Uint8Array, at: number, nameEnd: number, extraEnd: number): ZipMember {
  const extras = extrasIn(new DataView(view.buffer, view.byteOffset + nameEnd, extraEnd - nameEnd));
  const flags = view.getUint16(at + 8, true);
  const [sizeBytes, packedBytes, offset] = largeValues(extras, [
    view.getUint32(at + 24, true),
    view.getUint32(at + 20, true),
    view.getUint32(at + 42, true),
  ]);
  const name = memberName(bytes.subarray(at + headBytes, nameEnd), (flags & 0x0800) !== 0, extras.get(0x7075));
  return {
    name,
    isFolder: name.endsWith('/'),
    sizeBytes,
    packedBytes,
    modifiedMs: timestamp(extras) ?? dosTime(view.getUint16(at + 14, true), view.getUint16(at + 12, true)),
    method: view.getUint16(at + 10, true),
    isEncrypted: (flags & 0x0001) !== 0,
    crc: view.getUint32(at + 16, true),
    offset,
  };
}

/** The extra fields by their ID; of what is cut off nothing. */
function extrasIn(view: DataView): Map<number, DataView> {
  const extras = new Map<number, DataView>();
  for (let at = 0; at + 4 <= view.byteLength; ) {
    const length = view.getUint16(at + 2, true);
    if (at + 4 + length > view.byteLength) break;
    extras.set(view.getUint16(at, true), new DataView(view.buffer, view.byteOffset + at + 4, length));
    at += 4 + length;
  }
  return extras;
}

/** Values that 32 bits do not hold stand in an extra field, one after the other (APPNOTE 4.5.3). */
function largeValues(extras: Map<number, DataView>, values: [number, number, number]): [number, number, number] {
  const large = extras.get(0x0001);
  let at = 0;
  return values.map((value) => {
    if (value !== 0xffffffff) return value;
    if (large === undefined || at + 8 > large.byteLength) throw new ZipFault('damaged');
    at += 8;
    return Number(large.getBigUint64(at - 8, true));
  }) as [number, number, number];
}

/** Info-ZIP's extended timestamp, in UTC. */
function timestamp(extras: Map<number, DataView>): number | undefined {
  const field = extras.get(0x5455);
  return field && field.byteLength >= 5 && (field.getUint8(0) & 1) !== 0 ? field.getInt32(1, true) * 1000 : undefined;
}

/** A time of MS-DOS (APPNOTE 4.4.6), which is local, though nobody knows where. */
function dosTime(date: number, time: number): number | undefined {
  const [month, day] = [(date >> 5) & 15, date & 31];
  if (month < 1 || month > 12 || day < 1) return undefined;
  return new Date(1980 + (date >> 9), month - 1, day, time >> 11, (time >> 5) & 63, (time & 31) * 2).getTime();
}
