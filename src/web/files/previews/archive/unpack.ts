import { Inflate } from 'fflate';
import { pause } from '../turns.ts';
import { crc32 } from './crc32.ts';
import type { ArchiveFile, ZipDirectory } from './zip-directory.ts';
import { ZipFault } from './zip-fault.ts';
import type { ZipMember } from './zip-member.ts';

/** Bytes that are inflated at once: they become a thousand times as many at most. */
const stepBytes = 4096;

const localHeadBytes = 30;

/**
 * The content of a member, in pieces: never more than the directory announces, and never what belongs to another member.
 *
 * @param known members that were read
 * @throws ZipFault when the content cannot be unpacked or is not what was announced
 */
export async function* unpack(
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

/** Where the content starts, which only the local header tells (APPNOTE 4.3.7). */
async function contentStart(member: ZipMember, file: ArchiveFile, directory: ZipDirectory): Promise<number> {
  const at = directory.before + member.offset;
  if (at + localHeadBytes > directory.start) throw new ZipFault('damaged');
  const head = await file.read(at, localHeadBytes);
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (view.getUint32(0, true) !== 0x04034b50 || view.getUint16(8, true) !== member.method) throw new ZipFault('damaged');
  return at + localHeadBytes + view.getUint16(26, true) + view.getUint16(28, true);
}

/** Where the next member starts, or the directory. Two members at one place have none. */
function endOfSpace(member: ZipMember, directory: ZipDirectory, known: readonly ZipMember[]): number {
  let end = directory.start;
  for (const other of known) {
    if (other !== member && other.offset >= member.offset) end = Math.min(end, directory.before + other.offset);
  }
  return end;
}
