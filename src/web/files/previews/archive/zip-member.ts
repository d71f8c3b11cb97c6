export type ZipFaultReason = 'no-archive' | 'damaged' | 'encrypted' | 'unknown-packing' | 'in-parts' | 'too-large';

export class ZipFault extends Error {
  readonly reason: ZipFaultReason;

  constructor(reason: ZipFaultReason) {
    super(reason);
    this.reason = reason;
  }
}

export interface ArchiveFile {
  sizeBytes: number;
  /** Reads exactly `length` bytes, or throws. */
  read(start: number, length: number): Promise<Uint8Array>;
  /** Like `read`, but yields the bytes as they arrive. */
  stream(start: number, length: number): AsyncIterable<Uint8Array>;
}

export interface ZipDirectory {
  /** Number of members that the archive announces. It can be wrong. */
  count: number;
  start: number;
  end: number;
  /** Number of bytes before the archive, for example of a program that unpacks it. */
  before: number;
}

const endBytes = 22;
const locatorBytes = 20;

/** Number of bytes at the end of a file that certainly contain the end record and the ZIP64 locator before it. */
export const tailBytes = endBytes + 0xffff + locatorBytes;

const end64Bytes = 56;

/** Finds the central directory from the end of the file (APPNOTE 4.3.14 to 4.3.16). @throws ZipFault if there is none */
export async function findDirectory(file: ArchiveFile): Promise<ZipDirectory> {
  const tailStart = Math.max(0, file.sizeBytes - tailBytes);
  const tail = dataView(await file.read(tailStart, file.sizeBytes - tailStart));
  const at = endIn(tail);
  if (at === undefined) throw new ZipFault('no-archive');
  const isLarge = at >= locatorBytes && tail.getUint32(at - locatorBytes, true) === 0x07064b50;
  if (isLarge) return directory64(file, tail, at - locatorBytes, tailStart);
  if (tail.getUint16(at + 4, true) !== 0) throw new ZipFault('in-parts');
  return directoryBefore(tailStart + at, tail.getUint16(at + 10, true), tail.getUint32(at + 12, true), tail.getUint32(at + 16, true));
}

/** Finds the start of the end record. It is the last record whose comment fits into the file. */
function endIn(tail: DataView): number | undefined {
  for (let at = tail.byteLength - endBytes; at >= 0; at--) {
    if (tail.getUint32(at, true) === 0x06054b50 && at + endBytes + tail.getUint16(at + 20, true) <= tail.byteLength) return at;
  }
  return undefined;
}

async function directory64(file: ArchiveFile, tail: DataView, locator: number, tailStart: number): Promise<ZipDirectory> {
  if (tail.getUint32(locator + 16, true) > 1) throw new ZipFault('in-parts');
  // If there are bytes before the archive, the offset in the locator is wrong. So the position directly before the locator is tried, too.
  const places = [safe(tail.getBigUint64(locator + 8, true)), tailStart + locator - end64Bytes];
  for (const at of places) {
    if (at < 0 || at + end64Bytes > tailStart + locator) continue;
    const record = dataView(await file.read(at, end64Bytes));
    if (record.getUint32(0, true) !== 0x06064b50) continue;
    const [count, length, offset] = [32, 40, 48].map((field) => safe(record.getBigUint64(field, true))) as [number, number, number];
    return directoryBefore(at, count, length, offset);
  }
  throw new ZipFault('damaged');
}

function directoryBefore(end: number, count: number, length: number, offset: number): ZipDirectory {
  const start = end - length;
  if (start < offset) throw new ZipFault('damaged');
  return { count, start, end, before: start - offset };
}

function dataView(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Converts a 64-bit number. A number that JavaScript cannot represent exactly is larger than any file, so it counts as damaged. */
function safe(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new ZipFault('damaged');
  return Number(value);
}

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1;
  return remainder;
});

/** CRC-32 (ISO 3309, as in ZIP). @param before CRC-32 of the preceding bytes; 0 at the beginning */
export function crc32(bytes: Uint8Array, before: number): number {
  let crc = ~before;
  for (const byte of bytes) crc = (table[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The characters from 0x80 on in code page 437, which is the encoding of names that are not in UTF-8 (APPNOTE D.1). */
const upperHalf =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0';

/**
 * Decodes a name. Many programs write UTF-8 without setting the flag for it, so any valid UTF-8 counts as UTF-8.
 * @param unicodeName Info-ZIP's extra field with the name in UTF-8. It is used only if its CRC-32 matches `bytes` (APPNOTE 4.6.9)
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

/** A member of an archive, as the central directory describes it. */
export interface ZipMember {
  /** Path in the archive, with `/` between folders; the path of a folder ends in `/`. */
  name: string;
  isFolder: boolean;
  /** Size of the unpacked content, as the directory announces it. */
  sizeBytes: number;
  packedBytes: number;
  /** Unix time in milliseconds; undefined if the archive has no valid time. */
  modifiedMs: number | undefined;
  /** Compression method (APPNOTE 4.4.5): 0 is none, 8 is DEFLATE. */
  method: number;
  isEncrypted: boolean;
  crc: number;
  offset: number;
}

const signature = 0x02014b50;
const headBytes = 46;

/** Maximum length of a member's record in bytes. The lengths of its three variable fields have 16 bits each. */
export const maxRecordBytes = headBytes + 3 * 0xffff;

/**
 * Reads up to `most` members from a piece of the central directory (APPNOTE 4.3.12).
 * @returns the members whose records are complete, and the number of bytes of these records
 * @throws ZipFault if the piece contains another kind of record
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

/** Replaces the values that need more than 32 bits. The ZIP64 extra field contains them one after the other (APPNOTE 4.5.3). */
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

/** Returns the modification time in Info-ZIP's extended timestamp, which is in UTC. */
function timestamp(extras: Map<number, DataView>): number | undefined {
  const field = extras.get(0x5455);
  return field && field.byteLength >= 5 && (field.getUint8(0) & 1) !== 0 ? field.getInt32(1, true) * 1000 : undefined;
}

/** Reads an MS-DOS time (APPNOTE 4.4.6). Its time zone is unknown, so it is taken as local time. */
function dosTime(date: number, time: number): number | undefined {
  const [month, day] = [(date >> 5) & 15, date & 31];
  if (month < 1 || month > 12 || day < 1) return undefined;
  return new Date(1980 + (date >> 9), month - 1, day, time >> 11, (time >> 5) & 63, (time & 31) * 2).getTime();
}
