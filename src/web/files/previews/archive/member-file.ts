import type { Archive } from './archive.ts';
import { ZipFault } from './zip-fault.ts';
import type { ZipMember } from './zip-member.ts';

/** A larger member is not unpacked, in bytes: the browser has to hold it as a whole. */
const mostBytes = 500_000_000;

/** What is gathered of this size, in bytes, goes to the browser, which may keep it on its disk. */
const partBytes = 8 * 1024 * 1024;

/**
 * A member as a file of no type, so that the browser saves it whatever is in it.
 *
 * @throws ZipFault
 */
export async function memberFile(archive: Archive, member: ZipMember, signal: AbortSignal): Promise<Blob> {
  if (member.sizeBytes > mostBytes) throw new ZipFault('too-large');
  const type = 'application/octet-stream';
  const parts: Blob[] = [];
  let pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const piece of archive.content(member, signal)) {
    pieces.push(piece as Uint8Array<ArrayBuffer>);
    size += piece.length;
    if (size < partBytes) continue;
    parts.push(new Blob(pieces, { type }));
    [pieces, size] = [[], 0];
  }
  return new Blob([...parts, ...pieces], { type });
}
