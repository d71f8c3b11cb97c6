import { type Attributes, attributeFlags, type Handle, packetTypes, type StatusCode } from './packets.ts';

/** Sizes of the pooled buffers. Larger and much smaller buffers are allocated each time. */
const sizesBytes = [64 * 1024, 257 * 1024];
const leastBytes = 8 * 1024;

/** Maximum size of the pool in bytes. All sessions share the pool. */
const maxKeptBytes = 8 * 1024 * 1024;

const kept = new Map<number, Buffer[]>(sizesBytes.map((bytes) => [bytes, []]));
let keptBytes = 0;

/** Returns a buffer of at least `bytes`, with arbitrary content. */
export function takeBuffer(bytes: number): Buffer {
  const size = bytes < leastBytes ? undefined : sizesBytes.find((one) => bytes <= one);
  if (size === undefined) return Buffer.allocUnsafe(bytes);
  const buffer = kept.get(size)?.pop();
  if (!buffer) return Buffer.allocUnsafeSlow(size);
  keptBytes -= size;
  return buffer;
}

/** Returns a buffer from `takeBuffer` to the pool. Call it once, after the content has been sent. */
export function giveBuffer(buffer: Buffer): void {
  const others = kept.get(buffer.length);
  if (!others || keptBytes + buffer.length > maxKeptBytes) return;
  others.push(buffer);
  keptBytes += buffer.length;
}

/** Writes fields into one packet. `end` fills in the length. */
export class FieldWriter {
  #bytes: Buffer;
  #at = 4;

  constructor(type: number, expectedBytes = 256) {
    this.#bytes = Buffer.allocUnsafe(expectedBytes);
    this.byte(type);
  }

  byte(value: number): this {
    this.#room(1);
    this.#at = this.#bytes.writeUInt8(value, this.#at);
    return this;
  }

  uint32(value: number): this {
    this.#room(4);
    this.#at = this.#bytes.writeUInt32BE(value >>> 0, this.#at);
    return this;
  }

  /** @param value at most 2^53 - 1 */
  uint64(value: number): this {
    this.uint32(Math.floor(value / 2 ** 32));
    return this.uint32(value % 2 ** 32);
  }

  bytes(value: Uint8Array): this {
    return this.uint32(value.length).raw(value);
  }

  /** Writes bytes without their length. */
  raw(value: Uint8Array): this {
    this.#room(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
    return this;
  }

  text(value: string): this {
    this.#room(4 + 3 * value.length);
    const length = this.#bytes.write(value, this.#at + 4);
    this.#bytes.writeUInt32BE(length, this.#at);
    this.#at += 4 + length;
    return this;
  }

  handle(value: Handle): this {
    return this.uint32(4).uint32(value);
  }

  attributes({ sizeBytes, owner, mode, times }: Attributes): this {
    const { size, owner: owned, mode: moded, times: timed } = attributeFlags;
    this.uint32((sizeBytes === undefined ? 0 : size) | (owner ? owned : 0) | (mode === undefined ? 0 : moded) | (times ? timed : 0));
    if (sizeBytes !== undefined) this.uint64(sizeBytes);
    if (owner) this.uint32(owner.uid).uint32(owner.gid);
    if (mode !== undefined) this.uint32(mode);
    if (times) this.uint32(times.accessedS).uint32(times.modifiedS);
    return this;
  }

  /** Number of bytes written so far, including the length field. */
  get lengthBytes(): number {
    return this.#at;
  }

  /** Fills in the length and returns the packet. */
  end(): Buffer {
    this.#bytes.writeUInt32BE(this.#at - 4, 0);
    return this.#bytes.subarray(0, this.#at);
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** Builds the reply to INIT: version 3 and the extensions, by name and version. */
export function versionReply(extensions: readonly (readonly [name: string, version: string])[]): Buffer {
  const packet = new FieldWriter(packetTypes.version, 1024).uint32(3);
  for (const [name, version] of extensions) packet.text(name).text(version);
  return packet.end();
}

/** Builds the reply STATUS (draft-ietf-secsh-filexfer-02 §7) with an English message. */
export function statusReply(id: number, code: StatusCode, message: string): Buffer {
  return new FieldWriter(packetTypes.status, 32 + 3 * message.length).uint32(id).uint32(code).text(message).text('en').end();
}

/** Returns the status code of a reply; 0 (OK) for replies of other types. */
export function statusIn(reply: Buffer): number {
  return reply[4] === packetTypes.status ? reply.readUInt32BE(9) : 0;
}

/** Builds the reply HANDLE (§7). */
export function handleReply(id: number, handle: Handle): Buffer {
  return new FieldWriter(packetTypes.handle, 17).uint32(id).handle(handle).end();
}

/** Builds the reply ATTRS (§7). */
export function attributesReply(id: number, attributes: Attributes): Buffer {
  return new FieldWriter(packetTypes.attrs, 64).uint32(id).attributes(attributes).end();
}

/** Size of a DATA reply before its data, in bytes. */
export const dataHeadBytes = 4 + 1 + 4 + 4;

/** Writes the head of a DATA reply into its packet. @param packet has `dataHeadBytes` free bytes for the head, then the data */
export function putDataHead(packet: Buffer, id: number, dataBytes: number): void {
  packet.writeUInt32BE(dataHeadBytes - 4 + dataBytes, 0);
  packet[4] = packetTypes.data;
  packet.writeUInt32BE(id, 5);
  packet.writeUInt32BE(dataBytes, 9);
}

/** One name of a NAME reply (§7). */
export interface NameItem {
  name: string;
  /** The entry as a line in the format of `ls -l`. */
  longName: string;
  attributes: Attributes;
}

/** Builds the reply NAME (§7). */
export function namesReply(id: number, items: readonly NameItem[]): Buffer {
  const packet = new FieldWriter(packetTypes.name, 64 + items.length * 160).uint32(id).uint32(items.length);
  for (const { name, longName, attributes } of items) packet.text(name).text(longName).attributes(attributes);
  return packet.end();
}
