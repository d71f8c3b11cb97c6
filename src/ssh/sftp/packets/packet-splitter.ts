/** Maximum size of a packet in bytes, without its length field. It is the limit of OpenSSH (256 KiB) with some room for the head. */
export const maxPacketBytes = 257 * 1024;

/** Thrown if the framing of the stream is broken. Nothing after this point can be read. */
export class BrokenFraming extends Error {}

/** Number of pieces above which a packet is joined. This limit is needed because a client can send single bytes. */
const maxChunks = 64;

/** A packet without its length field, in the pieces in which it arrived. The type comes first, then the fields. */
export type Packet = readonly [Buffer, ...Buffer[]];

/**
 * Splits the stream of a channel into packets (draft-ietf-secsh-filexfer-02 §3), usually without copying. The pushed bytes must not change
 * while one of their packets is in use.
 */
export class PacketSplitter {
  #chunks: Buffer[] = [];
  /** Number of bytes of the first chunk that have already been returned. */
  #start = 0;
  #heldBytes = 0;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#chunks.length > maxChunks && this.#heldBytes < maxPacketBytes) this.#join();
  }

  /** Number of bytes that `next` has not returned yet. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Returns the next packet; undefined until all of it has arrived. @throws BrokenFraming for a length of 0 or above `maxPacketBytes` */
  next(): Packet | undefined {
    const lengthBytes = this.#peekLength();
    if (lengthBytes === undefined) return undefined;
    if (lengthBytes === 0) throw new BrokenFraming('a packet has no content');
    if (lengthBytes > maxPacketBytes) throw new BrokenFraming(`a packet of ${lengthBytes} bytes is too long`);
    if (this.#heldBytes < 4 + lengthBytes) return undefined;
    this.#take(4);
    return this.#take(lengthBytes) as unknown as Packet;
  }

  #peekLength(): number | undefined {
    if (this.#heldBytes < 4) return undefined;
    const first = this.#chunks[0] as Buffer;
    if (first.length - this.#start >= 4) return first.readUInt32BE(this.#start);
    this.#join();
    return (this.#chunks[0] as Buffer).readUInt32BE(0);
  }

  #join(): void {
    this.#chunks = [Buffer.concat(this.#chunks).subarray(this.#start)];
    this.#start = 0;
  }

  #take(bytes: number): Buffer[] {
    const pieces: Buffer[] = [];
    let used = 0;
    for (let left = bytes; left > 0; ) {
      const chunk = this.#chunks[used] as Buffer;
      const end = Math.min(chunk.length, this.#start + left);
      pieces.push(this.#start === 0 && end === chunk.length ? chunk : chunk.subarray(this.#start, end));
      left -= end - this.#start;
      if (end < chunk.length) {
        this.#start = end;
      } else {
        this.#start = 0;
        used++;
      }
    }
    if (used > 0) this.#chunks.splice(0, used);
    this.#heldBytes -= bytes;
    return pieces;
  }
}
