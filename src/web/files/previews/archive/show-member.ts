import { showText } from '../text/text-preview.ts';
import type { Archive } from './archive.ts';
import type { ZipMember } from './zip-member.ts';

/** Shows a member that is a text. @throws ZipFault */
export function showMember(archive: Archive, member: ZipMember, signal: AbortSignal): Promise<HTMLElement> {
  const { name, sizeBytes } = member;
  const start = (lengthBytes: number) => firstBytes(archive.content(member, signal), lengthBytes, sizeBytes);
  return showText({ name, sizeBytes, place: undefined, start }, signal);
}

/** The first bytes of a content. What is wanted whole is read to its end, where it is checked; else no more of it is unpacked. */
async function firstBytes(content: AsyncGenerator<Uint8Array>, lengthBytes: number, sizeBytes: number): Promise<Uint8Array> {
  const first = new Uint8Array(lengthBytes);
  let at = 0;
  for await (const piece of content) {
    first.set(piece.subarray(0, lengthBytes - at), at);
    at += Math.min(piece.length, lengthBytes - at);
    if (at === lengthBytes && lengthBytes < sizeBytes) break;
  }
  return first;
}
