import { isUtf8 } from 'node:buffer';
import type { Packet } from './packet-splitter.ts';
import { type Attributes, attributeFlags, type Handle, packetTypes } from './packets.ts';

/** Thrown if the fields of a packet are not valid. */
export class MalformedFields extends Error {}

/** Reads the fields of a packet one after the other. A method that meets an invalid field throws `MalformedFields`. */
export class FieldReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  byte(): number {
    return this.#bytes[this.#skip(1)] as number;
  }

  uint32(): number {
    return this.#bytes.readUInt32BE(this.#skip(4));
  }

  /** Reads a 64-bit number, which is inexact above 2^53 - 1. */
  uint64(): number {
    const at = this.#skip(8);
    return this.#bytes.readUInt32BE(at) * 2 ** 32 + this.#bytes.readUInt32BE(at + 4);
  }

  bytes(): Buffer {
    const length = this.uint32();
    const at = this.#skip(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** Reads a text or a path, which must be valid UTF-8 without NUL. */
  text(): string {
    const bytes = this.bytes();
    if (!isUtf8(bytes)) throw new MalformedFields('a name is not valid UTF-8');
    if (bytes.includes(0)) throw new MalformedFields('a name contains the NUL character');
    return bytes.toString();
  }

  handle(): Handle {
    const bytes = this.bytes();
    return bytes.length === 4 ? bytes.readUInt32BE(0) : -1;
  }

  attributes(): Attributes {
    const flags = this.uint32();
    const attributes: Attributes = {};
    if (flags & attributeFlags.size) attributes.sizeBytes = this.uint64();
    if (flags & attributeFlags.owner) attributes.owner = { uid: this.uint32(), gid: this.uint32() };
    if (flags & attributeFlags.mode) attributes.mode = this.uint32();
    if (flags & attributeFlags.times) attributes.times = { accessedS: this.uint32(), modifiedS: this.uint32() };
    if (flags & attributeFlags.extended) {
      const pairs = this.uint32();
      for (let pair = 0; pair < pairs; pair++) {
        this.bytes();
        this.bytes();
      }
    }
    return attributes;
  }

  get position(): number {
    return this.#at;
  }

  rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  #skip(length: number): number {
    const at = this.#at;
    if (at + length > this.#bytes.length) throw new MalformedFields('the packet ends in the middle of a field');
    this.#at = at + length;
    return at;
  }
}

/** A union with one request type for each kind; all of them have the same fields. */
type Each<Kind extends string, Fields> = Kind extends unknown ? { kind: Kind; id: number } & Fields : never;

/** A parsed request of a client. */
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
  /** A request that cannot be read. `id` is undefined if even the ID is missing. */
  | { kind: 'malformed'; id: number | undefined; reason: string };

/** Size of a WRITE in bytes up to its data: type, ID, handle of this service, offset and length of the data. */
const writeHeadBytes = 1 + 4 + 4 + 4 + 8 + 4;

/** Reads a request. Ignores bytes after the last field, because rclone sends some after the data of a WRITE. Never throws. */
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

const kinds = new Map(Object.entries(packetTypes).map(([kind, type]) => [type as number, kind as keyof typeof packetTypes]));

function readOther(type: number, id: number, fields: FieldReader): SftpRequest {
  const kind = kinds.get(type);
  switch (kind) {
    case 'open':
      return { kind, id, path: fields.text(), flags: fields.uint32(), attributes: fields.attributes() };
    case 'close':
    case 'fstat':
    case 'readdir':
      return { kind, id, handle: fields.handle() };
    case 'read':
      return { kind, id, handle: fields.handle(), offset: fields.uint64(), length: fields.uint32() };
    case 'fsetstat':
      return { kind, id, handle: fields.handle(), attributes: fields.attributes() };
    case 'setstat':
    case 'mkdir':
      return { kind, id, path: fields.text(), attributes: fields.attributes() };
    case 'stat':
    case 'lstat':
    case 'opendir':
    case 'remove':
    case 'rmdir':
    case 'realpath':
    case 'readlink':
      return { kind, id, path: fields.text() };
    case 'rename':
    case 'symlink':
      return { kind, id, path: fields.text(), otherPath: fields.text() };
    case 'extended':
      return { kind, id, name: fields.text(), fields };
    default:
      return { kind: 'unknown', id, type };
  }
}
