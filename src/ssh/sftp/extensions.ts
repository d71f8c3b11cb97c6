import { createHash } from 'node:crypto';
import { ServiceError } from '../../lib/errors.ts';
import type { OpenHandle } from './open-handles.ts';
import { packetTypes } from './packets/packets.ts';
import type { FieldReader } from './packets/read-request.ts';
import { FieldWriter } from './packets/replies.ts';

/**
 * The extensions that the service announces, by name and version. The service offers neither `hardlink@openssh.com` nor
 * `users-groups-by-id@openssh.com`.
 */
export const announcedExtensions = [
  ['posix-rename@openssh.com', '1'],
  ['statvfs@openssh.com', '2'],
  ['fstatvfs@openssh.com', '2'],
  ['fsync@openssh.com', '1'],
  ['lsetstat@openssh.com', '1'],
  ['limits@openssh.com', '1'],
  ['expand-path@openssh.com', '1'],
  ['copy-data', '1'],
  ['check-file', '1'],
] as const;

const aboutPaths = new Set([
  'posix-rename@openssh.com',
  'lsetstat@openssh.com',
  'statvfs@openssh.com',
  'expand-path@openssh.com',
  'check-file-name',
]);
const known = new Set<string>([...announcedExtensions.map(([name]) => name), 'check-file-name', 'check-file-handle']);

/** Returns whether the fields of an extension begin with a path. The fields of other extensions begin with a handle or are empty. */
export function isAboutPath(extension: string): boolean {
  return aboutPaths.has(extension);
}

/** Returns whether an extension is supported. Clients can request others. */
export function isKnown(extension: string): boolean {
  return known.has(extension);
}

/** Maximum number of content bytes in one READ or WRITE. The whole packet may be slightly larger. */
export const maxTransferBytes = 255 * 1024;

/** Builds the reply to `limits@openssh.com` (OpenSSH PROTOCOL §4.8). */
export function limitsReply(id: number, maxHandles: number): Buffer {
  return new FieldWriter(packetTypes.extendedReply, 64)
    .uint32(id)
    .uint64(256 * 1024)
    .uint64(maxTransferBytes)
    .uint64(maxTransferBytes)
    .uint64(maxHandles)
    .end();
}

const blockBytes = 4096;
const longestName = 255;

/** Builds the reply to `statvfs@openssh.com` (OpenSSH PROTOCOL §4.4). Inode counts are 0. */
export function spaceReply(id: number, { availableBytes, usedBytes }: { availableBytes: number; usedBytes: number }): Buffer {
  const available = Math.floor(availableBytes / blockBytes);
  const values = [blockBytes, blockBytes, available + Math.ceil(usedBytes / blockBytes), available, available, 0, 0, 0, 0, 0, longestName];
  const packet = new FieldWriter(packetTypes.extendedReply, 128).uint32(id);
  for (const value of values) packet.uint64(value);
  return packet.end();
}

const pieceBytes = 1024 * 1024;

/** The fields of `copy-data` (draft-ietf-secsh-filexfer-extensions-00 §7). */
export interface CopyRequest {
  from: number;
  offset: number;
  /** Number of bytes to copy; 0 means up to the end. */
  lengthBytes: number;
  to: number;
  toOffset: number;
}

export function readCopyRequest(fields: FieldReader): CopyRequest {
  return { from: fields.handle(), offset: fields.uint64(), lengthBytes: fields.uint64(), to: fields.handle(), toOffset: fields.uint64() };
}

/**
 * Copies the content of one open file to another. Content that is added during the copy is not copied. Otherwise, a copy between two
 * handles of the same file would make this file grow, and would never end.
 *
 * @returns whether the source contained as many bytes as requested
 * @throws ServiceError `destination-overlaps` if both handles are the same, `is-folder` for a folder
 */
export async function copyData(
  source: OpenHandle,
  target: OpenHandle,
  { offset, lengthBytes, toOffset }: CopyRequest,
  ended: AbortSignal,
): Promise<boolean> {
  if (source === target) throw new ServiceError('destination-overlaps', 'A file cannot be copied to itself.');
  for (const { kind } of [source, target]) if (kind === 'folder') throw new ServiceError('is-folder', 'The handle refers to a folder.');
  const presentBytes = (await source.entry()).sizeBytes - offset;
  if (presentBytes <= 0) return lengthBytes === 0;
  let at = toOffset;
  for await (const piece of readContent(source, offset, Math.min(presentBytes, lengthBytes || presentBytes), ended)) {
    await target.write(at, [piece]);
    at += piece.length;
  }
  return at - toOffset >= lengthBytes;
}

/** The fields of `check-file` (draft-ietf-secsh-filexfer-extensions-00 §3), after the handle or the name. */
export interface CheckRequest {
  algorithms: string[];
  offset: number;
  /** Number of bytes to check; 0 means up to the end. */
  lengthBytes: number;
  /** Number of bytes per hash; 0 means one hash of all bytes. */
  blockBytes: number;
}

export function readCheckRequest(fields: FieldReader): CheckRequest {
  return { algorithms: fields.text().split(','), offset: fields.uint64(), lengthBytes: fields.uint64(), blockBytes: fields.uint32() };
}

const hashes = ['sha256', 'sha512', 'sha1', 'md5'];
const smallestBlockBytes = 256;
const maxHashBytes = 128 * 1024;

/**
 * Builds the reply to `check-file`. The reply contains the name of the extension (which paramiko expects), the algorithm, and the hashes.
 *
 * @throws ServiceError `method-not-allowed` for unsupported algorithms, `precondition-failed` for blocks that are too small, `too-large`
 *   for too many blocks
 */
export async function checkFileReply(id: number, handle: OpenHandle, request: CheckRequest, ended: AbortSignal): Promise<Buffer> {
  const algorithm = request.algorithms.find((name) => hashes.includes(name));
  if (algorithm === undefined)
    throw new ServiceError('method-not-allowed', `None of these hashes is supported; supported are ${hashes.join(', ')}.`);
  if (request.blockBytes !== 0 && request.blockBytes < smallestBlockBytes)
    throw new ServiceError('precondition-failed', `Blocks must have at least ${smallestBlockBytes} bytes.`);
  const digests: Buffer[] = [];
  let digestBytes = 0;
  let hash = createHash(algorithm);
  let blockLeft = request.blockBytes || Number.POSITIVE_INFINITY;
  let isEmpty = true;
  const endBlock = () => {
    const digest = hash.digest();
    digestBytes += digest.length;
    if (digestBytes > maxHashBytes) throw new ServiceError('too-large', 'There are too many blocks.');
    digests.push(digest);
    hash = createHash(algorithm);
    blockLeft = request.blockBytes || Number.POSITIVE_INFINITY;
    isEmpty = true;
  };
  for await (const piece of readContent(handle, request.offset, request.lengthBytes, ended)) {
    for (let done = 0; done < piece.length; ) {
      const part = piece.subarray(done, Math.min(piece.length, done + blockLeft));
      hash.update(part);
      done += part.length;
      blockLeft -= part.length;
      isEmpty = false;
      if (blockLeft === 0) endBlock();
    }
  }
  if (!isEmpty || digests.length === 0) endBlock();
  const packet = new FieldWriter(packetTypes.extendedReply, 64 + digestBytes).uint32(id).text('check-file').text(algorithm);
  for (const digest of digests) packet.raw(digest);
  return packet.end();
}

/**
 * Reads an open file in pieces, each in its own buffer.
 *
 * @param lengthBytes number of bytes; 0 means up to the end
 * @throws ServiceError `client-gone` after `ended` was aborted
 */
export async function* readContent(handle: OpenHandle, offset: number, lengthBytes: number, ended: AbortSignal): AsyncGenerator<Buffer> {
  let left = lengthBytes || Number.POSITIVE_INFINITY;
  for (let at = offset; left > 0 && Number.isSafeInteger(at); ) {
    if (ended.aborted) throw new ServiceError('client-gone', 'The client went away.');
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, left));
    const bytes = await handle.read(at, piece);
    if (bytes === 0) return;
    yield piece.subarray(0, bytes);
    at += bytes;
    left -= bytes;
  }
}
