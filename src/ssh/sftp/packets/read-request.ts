import { FieldReader, MalformedFields } from './field-reader.ts';
import type { Packet } from './packet-splitter.ts';
import { type Attributes, type Handle, packetTypes } from './packets.ts';

/** A request of each of these kinds. */
type Each<Kind extends string, Fields> = Kind extends unknown ? { kind: Kind; id: number } & Fields : never;

/** A request of a client. */
export type SftpRequest =
  | { kind: 'init'; version: number }
  | { kind: 'open'; id: number; path: string; flags: number; attributes: Attributes }
  | { kind: 'read'; id: number; handle: Handle; offset: number; length: number }
  | { kind: 'write'; id: number; handle: Handle; offset: number; data: Buffer[]; lengthBytes: number }
  | Each<'close' | 'fstat' | 'readdir', { handle: Handle }>
  | Each<'stat' | 'lstat' | 'opendir' | 'remove' | 'rmdir' | 'realpath' | 'readlink', { path: string }>
  | Each<'setstat' | 'mkdir', { path: string; attributes: Attributes }>
  | { kind: 'fsetstat'; id: number; handle: Handle; attributes: Attributes }
  | Each<'rename' | 'symlink', { path: string; otherPath: string }>
  | { kind: 'extended'; id: number; name: string; fields: FieldReader }
  | { kind: 'unknown'; id: number; type: number }
  /** A request that cannot be read; `id` is undefined where not even that is there. */
  | { kind: 'malformed'; id: number | undefined; reason: string };

/** The head of a WRITE up to its data: type, id, handle of this service, offset and length of the data. */
const writeHeadBytes = 1 + 4 + 4 + 4 + 8 + 4;

/** Reads a request. Bytes after the last field are skipped: rclone sends some after the data of a WRITE. Never throws. */
export function readRequest(packet: Packet): SftpRequest {
  const [first] = packet;
  const isLongWrite = first[0] === packetTypes.write && packet.length > 1 && first.length >= writeHeadBytes;
  const bytes = packet.length === 1 || isLongWrite ? first : Buffer.concat(packet);
  const fields = new FieldReader(bytes);
  const type = fields.byte();
  let id: number | undefined;
  try {
    if (type === packetTypes.init) return { kind: 'init', version: fields.uint32() };
    id = fields.uint32();
    if (type === packetTypes.write) return readWrite(id, fields, isLongWrite ? packet : [bytes]);
    return readOther(type, id, fields);
  } catch (error) {
    if (error instanceof MalformedFields) return { kind: 'malformed', id, reason: error.message };
    throw error;
  }
}

function readWrite(id: number, fields: FieldReader, packet: Packet): SftpRequest {
  const handle = fields.handle();
  const offset = fields.uint64();
  const lengthBytes = fields.uint32();
  const [first, ...others] = packet;
  const data: Buffer[] = [];
  let left = lengthBytes;
  for (const piece of [first.subarray(fields.position), ...others]) {
    if (left === 0) break;
    const part = piece.length > left ? piece.subarray(0, left) : piece;
    if (part.length > 0) data.push(part);
    left -= part.length;
  }
  if (left > 0) throw new MalformedFields('the packet ends in the middle of a field');
  return { kind: 'write', id, handle, offset, data, lengthBytes };
}

function readOther(type: number, id: number, fields: FieldReader): SftpRequest {
  switch (type) {
    case packetTypes.open:
      return { kind: 'open', id, path: fields.text(), flags: fields.uint32(), attributes: fields.attributes() };
    case packetTypes.close:
      return { kind: 'close', id, handle: fields.handle() };
    case packetTypes.read:
      return { kind: 'read', id, handle: fields.handle(), offset: fields.uint64(), length: fields.uint32() };
    case packetTypes.lstat:
      return { kind: 'lstat', id, path: fields.text() };
    case packetTypes.fstat:
      return { kind: 'fstat', id, handle: fields.handle() };
    case packetTypes.setstat:
      return { kind: 'setstat', id, path: fields.text(), attributes: fields.attributes() };
    case packetTypes.fsetstat:
      return { kind: 'fsetstat', id, handle: fields.handle(), attributes: fields.attributes() };
    case packetTypes.opendir:
      return { kind: 'opendir', id, path: fields.text() };
    case packetTypes.readdir:
      return { kind: 'readdir', id, handle: fields.handle() };
    case packetTypes.remove:
      return { kind: 'remove', id, path: fields.text() };
    case packetTypes.mkdir:
      return { kind: 'mkdir', id, path: fields.text(), attributes: fields.attributes() };
    case packetTypes.rmdir:
      return { kind: 'rmdir', id, path: fields.text() };
    case packetTypes.realpath:
      return { kind: 'realpath', id, path: fields.text() };
    case packetTypes.stat:
      return { kind: 'stat', id, path: fields.text() };
    case packetTypes.rename:
      return { kind: 'rename', id, path: fields.text(), otherPath: fields.text() };
    case packetTypes.readlink:
      return { kind: 'readlink', id, path: fields.text() };
    case packetTypes.symlink:
      return { kind: 'symlink', id, path: fields.text(), otherPath: fields.text() };
    case packetTypes.extended:
      return { kind: 'extended', id, name: fields.text(), fields };
    default:
      return { kind: 'unknown', id, type };
  }
}
