import { Inflate } from 'fflate';
import { pause } from '../pause.ts';
import {
  type ArchiveFile,
  crc32,
  findDirectory,
  maxRecordBytes,
  readMembers,
  type ZipDirectory,
  ZipFault,
  type ZipMember,
} from './zip-member.ts';

/** Number of packed bytes that are inflated in one step. Their content can be about a thousand times as large. */
const stepBytes = 4096;

const localHeadBytes = 30;

/**
 * Unpacks a member in pieces. It yields at most as many bytes as the directory announces, and never reads bytes of another member.
 * @param known members whose records have been read
 * @throws ZipFault if the content cannot be unpacked, or does not match the announced size or CRC-32
 */
async function* unpack(
  member: ZipMember,
  file: ArchiveFile,
  directory: ZipDirectory,
  known: readonly ZipMember[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  if (member.isEncrypted) throw new ZipFault('encrypted');
  if (member.method !== 0 && member.method !== 8) throw new ZipFault('unknown-packing');
  const start = await contentStart(member, file, directory);
  if (start + member.packedBytes > endOfSpace(member, directory, known)) throw new ZipFault('damaged');
  const content: Uint8Array[] = [];
  const inflate = new Inflate((piece) => content.push(piece));
  let [crc, packedBytes, sizeBytes] = [0, 0, 0];
  for await (const packed of file.stream(start, member.packedBytes)) {
    for (let from = 0; from < packed.length; from += stepBytes) {
      const step = packed.subarray(from, from + stepBytes);
      packedBytes += step.length;
      if (member.method === 0) content.push(step);
      else push(inflate, step, packedBytes === member.packedBytes);
      for (const piece of content.splice(0)) {
        sizeBytes += piece.length;
        if (sizeBytes > member.sizeBytes) throw new ZipFault('damaged');
        crc = crc32(piece, crc);
        yield piece;
      }
      await pause(signal);
    }
  }
  if (sizeBytes !== member.sizeBytes || crc !== member.crc) throw new ZipFault('damaged');
}

function push(inflate: Inflate, step: Uint8Array, isLast: boolean): void {
  try {
    inflate.push(step, isLast);
  } catch {
    throw new ZipFault('damaged');
  }
}

/** Finds the start of a member's content, which depends on the length of its local header (APPNOTE 4.3.7). */
async function contentStart(member: ZipMember, file: ArchiveFile, directory: ZipDirectory): Promise<number> {
  const at = directory.before + member.offset;
  if (at + localHeadBytes > directory.start) throw new ZipFault('damaged');
  const head = await file.read(at, localHeadBytes);
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (view.getUint32(0, true) !== 0x04034b50 || view.getUint16(8, true) !== member.method) throw new ZipFault('damaged');
  return at + localHeadBytes + view.getUint16(26, true) + view.getUint16(28, true);
}

/** Returns the start of the next member, or of the directory. Members at the same offset have no space, so they count as damaged. */
function endOfSpace(member: ZipMember, directory: ZipDirectory, known: readonly ZipMember[]): number {
  let end = directory.start;
  for (const other of known) {
    if (other !== member && other.offset >= member.offset) end = Math.min(end, directory.before + other.offset);
  }
  return end;
}

/** Number of bytes of the central directory in one request. They usually describe two thousand members or more. */
const pieceBytes = 256 * 1024;

/** A ZIP archive, read on demand. */
export type Archive = Awaited<ReturnType<typeof openArchive>>;

/** Opens an archive. @throws ZipFault if the file is not an archive */
export async function openArchive(file: ArchiveFile) {
  const directory = await findDirectory(file);
  const known: ZipMember[] = [];
  let at = directory.start;
  let piece: Uint8Array = new Uint8Array(0);
  const isAtEnd = () => at >= directory.end;
  return {
    members: known as readonly ZipMember[],
    isAtEnd,

    /** Returns the number of members. Until all have been read, it is the number that the archive announces. */
    count: () => (isAtEnd() ? known.length : Math.max(directory.count, known.length)),

    /** Reads up to `most` further members. @throws ZipFault if the directory is damaged */
    async next(most: number): Promise<ZipMember[]> {
      const before = known.length;
      while (known.length < before + most && !isAtEnd()) {
        const { members, usedBytes } = readMembers(piece, before + most - known.length);
        known.push(...members);
        at += usedBytes;
        piece = piece.subarray(usedBytes);
        if (members.length > 0) continue;
        const length = Math.min(pieceBytes, directory.end - at);
        if (piece.length >= Math.min(length, maxRecordBytes)) throw new ZipFault('damaged');
        piece = await file.read(at, length);
      }
      return known.slice(before);
    },

    /** Unpacks a member in pieces. @throws ZipFault */
    content: (member: ZipMember, signal: AbortSignal) => unpack(member, file, directory, known, signal),
  };
}
