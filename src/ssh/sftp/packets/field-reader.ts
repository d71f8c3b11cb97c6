import { isUtf8 } from 'node:buffer';
import { type Attributes, attributeFlags, type Handle } from './packets.ts';

/** Fields of a packet do not make sense. */
export class MalformedFields extends Error {}

/** Reads the fields of a packet one after the other. All methods throw `MalformedFields`. */
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

  /** A 64-bit number, inexact above 2^53 - 1. */
  uint64(): number {
    const at = this.#skip(8);
    return this.#bytes.readUInt32BE(at) * 2 ** 32 + this.#bytes.readUInt32BE(at + 4);
  }

  bytes(): Buffer {
    const length = this.uint32();
    const at = this.#skip(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** Text of the protocol, or a path: valid UTF-8 without NUL. */
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

  /** Where the next field begins. */
  get position(): number {
    return this.#at;
  }

  /** What is left. */
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
