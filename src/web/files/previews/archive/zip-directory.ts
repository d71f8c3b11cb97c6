import { ZipFault } from './zip-fault.ts';

/** The file in which an archive is. */
export interface ArchiveFile {
  sizeBytes: number;
  /** The bytes from `start` on: exactly so many, or it throws. */
  read(start: number, length: number): Promise<Uint8Array>;
  /** The same as they come. */
  stream(start: number, length: number): AsyncIterable<Uint8Array>;
}

/** Where the members of an archive stand. */
export interface ZipDirectory {
  /** Members, as the archive announces them: it may lie. */
  count: number;
  /** Where the central directory starts and ends in the file. */
  start: number;
  end: number;
  /** Bytes of something else before the archive, such as a program that unpacks it. */
  before: number;
}

const endBytes = 22;
const locatorBytes = 20;

/** Bytes at the end of a file in which the end record stands, and the locator of ZIP64 before it. */
export const tailBytes = endBytes + 0xffff + locatorBytes;

const end64Bytes = 56;

/**
 * Finds the central directory from the end of the file (APPNOTE 4.3.14 to 4.3.16), however large the archive is.
 *
 * @throws ZipFault when there is none
 */
export async function findDirectory(file: ArchiveFile): Promise<ZipDirectory> {
  const tailStart = Math.max(0, file.sizeBytes - tailBytes);
  const tail = viewOf(await file.read(tailStart, file.sizeBytes - tailStart));
  const at = endIn(tail);
  if (at === undefined) throw new ZipFault('no-archive');
  const isLarge = at >= locatorBytes && tail.getUint32(at - locatorBytes, true) === 0x07064b50;
  if (isLarge) return directory64(file, tail, at - locatorBytes, tailStart);
  if (tail.getUint16(at + 4, true) !== 0) throw new ZipFault('in-parts');
  return directoryBefore(tailStart + at, tail.getUint16(at + 10, true), tail.getUint32(at + 12, true), tail.getUint32(at + 16, true));
}

/** Where the end record starts: the last one whose comment fits. */
function endIn(tail: DataView): number | undefined {
  for (let at = tail.byteLength - endBytes; at >= 0; at--) {
    if (tail.getUint32(at, true) === 0x06054b50 && at + endBytes + tail.getUint16(at + 20, true) <= tail.byteLength) return at;
  }
  return undefined;
}

async function directory64(file: ArchiveFile, tail: DataView, locator: number, tailStart: number): Promise<ZipDirectory> {
  if (tail.getUint32(locator + 16, true) > 1) throw new ZipFault('in-parts');
  // What stands before the archive moves the record from where the locator says.
  const places = [safe(tail.getBigUint64(locator + 8, true)), tailStart + locator - end64Bytes];
  for (const at of places) {
    if (at < 0 || at + end64Bytes > tailStart + locator) continue;
    const record = viewOf(await file.read(at, end64Bytes));
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

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A number of 64 bits; no file is as large as those that JavaScript does not hold. */
function safe(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new ZipFault('damaged');
  return Number(value);
}
