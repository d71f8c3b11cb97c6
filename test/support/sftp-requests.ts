import { type Attributes, packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import { FieldReader } from '../../src/ssh/sftp/packets/read-request.ts';
import { FieldWriter } from '../../src/ssh/sftp/packets/replies.ts';

/** Returns the packet of a request, with its length at the beginning. */
export function requestPacket(type: number, id: number, build: (fields: FieldWriter) => unknown = () => {}): Buffer {
  const fields = new FieldWriter(type).uint32(id);
  build(fields);
  return Buffer.from(fields.end());
}

export type SftpReply =
  | { kind: 'status'; id: number; code: number; message: string }
  | { kind: 'handle'; id: number; handle: Buffer }
  | { kind: 'data'; id: number; data: Buffer }
  | { kind: 'attrs'; id: number; attributes: Attributes }
  | { kind: 'name'; id: number; items: { name: string; longName: string; attributes: Attributes }[] }
  | { kind: 'extended'; id: number; fields: FieldReader };

/** Reads a reply, which begins with its type. The length in front of it has been removed. */
export function readReply(bytes: Buffer): SftpReply {
  const fields = new FieldReader(bytes);
  const type = fields.byte();
  const id = fields.uint32();
  switch (type) {
    case packetTypes.status:
      return { kind: 'status', id, code: fields.uint32(), message: fields.text() };
    case packetTypes.handle:
      return { kind: 'handle', id, handle: fields.bytes() };
    case packetTypes.data:
      return { kind: 'data', id, data: fields.bytes() };
    case packetTypes.attrs:
      return { kind: 'attrs', id, attributes: fields.attributes() };
    case packetTypes.name: {
      const count = fields.uint32();
      const item = () => ({ name: fields.text(), longName: fields.text(), attributes: fields.attributes() });
      return { kind: 'name', id, items: Array.from({ length: count }, item) };
    }
    case packetTypes.extendedReply:
      return { kind: 'extended', id, fields };
    default:
      throw new Error(`Packets of type ${type} are not replies.`);
  }
}
